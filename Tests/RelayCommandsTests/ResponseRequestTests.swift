// SPDX-License-Identifier: Apache-2.0
import RelayHub
import RelayProtocol
import Testing

@testable import RelayFollowers

@Suite struct ResponseRequestTests {
  private func request(_ members: String) throws -> ResponseRequest {
    try ResponseRequest(JSONParser(maxDepth: 128).parse(Array("{\(members)}".utf8)))
  }

  private static let category = NotificationCategory(
    id: CategoryID(unchecked: "c"),
    actions: [
      NotificationAction(id: ActionID(unchecked: "accept"), title: .text("A")),
      NotificationAction(
        id: ActionID(unchecked: "comment"), title: .text("C"),
        textInput: .init(button: .text("B"), placeholder: .text("P"))),
      NotificationAction(
        id: ActionID(unchecked: "reply"), title: .text("R"),
        textInput: .init(button: .text("B"), placeholder: .text("P")), posts: true),
    ])

  private func posts(_ action: String, text: String? = nil, by category: NotificationCategory? = category) throws
    -> Bool
  {
    let text = text.map { #","text":"\#($0)""# } ?? ""
    return try request(#""notification":"n","action":"\#(action)"\#(text)"#).posts(by: category)
  }

  @Test(
    arguments: [
      ("accept", nil, false), ("comment", "hi", false), ("comment", nil, false), ("comment", "", false),
      ("reply", "hi", true), (ActionID.open.rawValue, nil, false), (ActionID.dismiss.rawValue, nil, false),
    ] as [(String, String?, Bool)])
  func `an action of the category or of the system is allowed`(action: String, text: String?, posts: Bool) throws {
    #expect(try self.posts(action, text: text) == posts)
  }

  @Test(
    arguments: [
      ("unknown", nil, "/action"), ("com.apple.other", nil, "/action"), ("accept", "hi", "/text"),
      ("accept", "", "/text"),
      ("reply", nil, "/text"), ("reply", " ", "/text"), (ActionID.open.rawValue, "hi", "/text"),
      (ActionID.dismiss.rawValue, "hi", "/text"),
    ] as [(String, String?, String)])
  func `other actions and texts are rejected`(action: String, text: String?, pointer: String) throws {
    let error = try #require(throws: RequestError.self) { try posts(action, text: text) }
    #expect((error.code, error.at) == (.badRequest, pointer))
  }

  @Test func `without a category only the actions of the system are allowed`() throws {
    #expect(try !posts(ActionID.open.rawValue, by: nil))
    #expect(throws: RequestError.self) { try posts("accept", by: nil) }
  }

  @Test(
    arguments: [
      (#""action":"a""#, "/notification"), (#""notification":1,"action":"a""#, "/notification"),
      (#""notification":"n""#, "/action"), (#""notification":"n","action":"a b""#, "/action"),
      (#""notification":"n","action":"a","text":1"#, "/text"), (#""notification":"n","action":"a","key":"""#, "/key"),
      (#""notification":"n","action":"a","key":1"#, "/key"),
    ])
  func `an invalid field has an error with its JSON pointer`(members: String, pointer: String) throws {
    #expect(try #require(throws: RequestError.self) { try request(members) }.at == pointer)
  }

  @Test(arguments: [("notification", 64), ("action", 128), ("text", 4_096), ("key", 128)])
  func `each field may have its maximum length and no more`(key: String, max: Int) throws {
    func fields(_ length: Int) -> String {
      var members = ["notification": "n", "action": "a"]
      members[key] = String(repeating: "x", count: length)
      return members.map { #""\#($0)":"\#($1)""# }.joined(separator: ",")
    }
    #expect(throws: Never.self) { try request(fields(max)) }
    #expect(try #require(throws: RequestError.self) { try request(fields(max + 1)) }.at == "/\(key)")
  }

  @Test func `a pong confirms the responses that were sent before its ping`() {
    var delivery = delivery(maxBytes: 100)
    delivery.unconfirmed = [(1, [1, 2], 20), (2, [3], 10), (4, [4], 10)]
    #expect(delivery.capacity == ResponseDelivery.maxUnconfirmed - 4)
    #expect(delivery.confirm(upTo: 0) == [])
    #expect(delivery.confirm(upTo: 3) == [1, 2, 3])
    #expect(delivery.capacity == ResponseDelivery.maxUnconfirmed - 1)
    #expect(delivery.confirm(upTo: 4) == [4])
  }

  private func delivery(maxBytes: Int) -> ResponseDelivery {
    ResponseDelivery(sender: UserID(unchecked: "alice"), maxBytes: maxBytes)
  }

  @Test(arguments: [([50, 50, 1], 2), ([50, 51], 1), ([101], 1), ([101, 1], 1), ([100, 1], 1), ([], 0)])
  func `frames are sent while they fit, and one always is`(sizes: [Int], max: Int) {
    #expect(delivery(maxBytes: 100).fitting(sizes.map { [UInt8](repeating: 0, count: $0) }) == max)
  }

  @Test func `unconfirmed responses use the capacity`() {
    var delivery = delivery(maxBytes: 100)
    delivery.unconfirmed = [(1, [1], 60)]
    #expect(delivery.fitting([[UInt8](repeating: 0, count: 41)]) == 0)
    #expect(delivery.fitting([[UInt8](repeating: 0, count: 40)]) == 1)
    delivery.unconfirmed = [(1, [1], 60), (2, [2], 40)]
    #expect(delivery.capacity == 0)
    #expect(delivery.confirm(upTo: 1) == [1])
    #expect(delivery.capacity == ResponseDelivery.maxUnconfirmed - 1)
  }
}
