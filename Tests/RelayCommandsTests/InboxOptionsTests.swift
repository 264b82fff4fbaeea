// SPDX-License-Identifier: Apache-2.0
import RelayJSON
import RelayProtocol
import RelayStore
import Testing

@testable import RelayFollowers

/// The member `inbox` of `hello`.
@Suite struct InboxOptionsTests {
  private func options(_ text: String) throws -> Inbox.Options? {
    guard let value = JSON(reading: Array(text.utf8)) else { preconditionFailure(text) }
    return try Inbox.Options(hello: Fields(value))
  }

  @Test(
    arguments: [
      ("{}", nil), (#"{"inbox":null}"#, nil), (#"{"inbox":false}"#, nil), (#"{"inbox":true}"#, Inbox.Options()),
      (#"{"inbox":{}}"#, Inbox.Options()), (#"{"inbox":{"preview":"text","since":null}}"#, Inbox.Options()),
      (#"{"inbox":{"preview":"none"}}"#, Inbox.Options(hasPreview: false)),
      (#"{"inbox":{"since":"0.7"}}"#, Inbox.Options(since: InboxPosition(epoch: "0", number: 7))),
    ] as [(String, Inbox.Options?)])
  func `true and an object subscribe`(_ text: String, _ expected: Inbox.Options?) throws {
    #expect(try options(text) == expected)
  }

  @Test(arguments: [
    (#"{"inbox":1}"#, "/inbox"), (#"{"inbox":"x"}"#, "/inbox"), (#"{"inbox":{"since":1}}"#, "/inbox/since"),
    (#"{"inbox":{"since":"0.7.5"}}"#, "/inbox/since"), (#"{"inbox":{"preview":"x"}}"#, "/inbox/preview"),
  ])
  func `other values have an error with their JSON pointer`(_ text: String, _ pointer: String) {
    #expect { _ = try options(text) } throws: { ($0 as? RequestError)?.at == pointer }
  }
}
