// SPDX-License-Identifier: Apache-2.0
import RelayProtocol
import Testing

/// Several messages are merged into one push only if their looks are equal.
@Suite struct PushLookTests {
  private static func request(_ change: (inout PushRequest) -> Void) -> PushRequest {
    var request = PushRequest()
    change(&request)
    return request
  }

  private static let looks = [
    request { $0.criteria = "work" },
    request { $0.manner.category = CategoryID(rawValue: "invitation") },
    request { $0.manner.collapse = .room },
    request { $0.manner.sound = .none },
    request { $0.manner.sound = .file(SoundFile(name: "bell")) },
    request { $0.manner.sound = .file(SoundFile(name: "bell", volume: 0.5)) },
    request { $0.manner.thread = .app },
    request { $0.manner.thread = .own("news") },
    request { $0.manner.isCommunication = true },
    request { $0.manner.isCommunication = false },
  ]

  @Test func `each field of the look makes a different look`() {
    let looks = Set(Self.looks.map(\.look))
    #expect(looks.count == Self.looks.count)
    #expect(!looks.contains(PushRequest().look))
  }

  @Test(arguments: [
    PushRequest(), PushRequest(isAsked: false), PushRequest(kind: .call), PushRequest(level: .passive),
    PushRequest(lifetime: .seconds(9)), PushRequest(isSilent: true),
    request { ($0.manner.title, $0.manner.body) = (.text("a"), .text("b")) },
    request { ($0.manner.badge, $0.manner.image, $0.manner.relevance) = (.number(3), "https://a", 0.5) },
  ])
  func `the other fields of a request do not change its look`(request: PushRequest) {
    #expect(request.look == PushRequest().look)
  }
}
