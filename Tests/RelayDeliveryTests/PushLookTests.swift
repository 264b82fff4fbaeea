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
    request { $0.style.category = CategoryID(rawValue: "invitation") },
    request { $0.style.collapse = .room },
    request { $0.style.sound = .none },
    request { $0.style.sound = .file(SoundFile(name: "bell")) },
    request { $0.style.sound = .file(SoundFile(name: "bell", volume: 0.5)) },
    request { $0.style.thread = .app },
    request { $0.style.thread = .own("news") },
    request { $0.style.isCommunication = true },
    request { $0.style.isCommunication = false },
  ]

  @Test func `each field of the look makes a different look`() {
    let looks = Set(Self.looks.map(\.look))
    #expect(looks.count == Self.looks.count)
    #expect(!looks.contains(PushRequest().look))
  }

  @Test(arguments: [
    PushRequest(), PushRequest(isAsked: false), PushRequest(kind: .call), PushRequest(level: .passive),
    PushRequest(lifetime: .seconds(9)), PushRequest(isSilent: true),
    request { ($0.style.title, $0.style.body) = (.text("a"), .text("b")) },
    request { ($0.style.badge, $0.style.image, $0.style.relevance) = (.number(3), "https://a", 0.5) },
  ])
  func `the other fields of a request do not change its look`(request: PushRequest) {
    #expect(request.look == PushRequest().look)
  }
}
