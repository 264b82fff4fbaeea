// SPDX-License-Identifier: Apache-2.0
import RelayProtocol
import Testing

@testable import RelayDelivery

/// Several messages become one push only if their styles are equal.
@Suite struct PushStyleTests {
  private static func request(_ change: (inout PushRequest) -> Void) -> PushRequest {
    var request = PushRequest()
    change(&request)
    return request
  }

  private static let styles = [
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

  @Test func `each part of a style makes another style`() {
    let texts = Self.styles.map { $0.style.map { String(decoding: $0, as: UTF8.self) } }
    #expect(!texts.contains(nil))
    #expect(Set(texts).count == Self.styles.count)
  }

  @Test(arguments: [
    PushRequest(), PushRequest(isAsked: false), PushRequest(kind: .call), PushRequest(level: .passive),
    PushRequest(lifetime: .seconds(9)), PushRequest(isSilent: true),
    request { ($0.manner.title, $0.manner.body) = (.text("a"), .text("b")) },
    request { ($0.manner.badge, $0.manner.image, $0.manner.relevance) = (.number(3), "https://a", 0.5) },
  ])
  func `the rest of a request is no part of its style`(request: PushRequest) {
    #expect(request.style == nil)
  }
}
