// SPDX-License-Identifier: Apache-2.0
// Tests the notifications that a push removes from the phone.
import RelayJSON
import RelayProtocol
import Testing

@testable import StillwireExtension

@Suite struct WithdrawalTests {
  private static func message(_ room: String, _ seq: Int64) -> String { #"{"room":"\#(room)","seq":\#(seq)}"# }

  private static func communication(_ user: String, _ room: String, _ seq: Int64) -> DeliveredNotification {
    let text = #"{"aps":{},"communication":{"recipient":"\#(user)"},"message":\#(message(room, seq))}"#
    return DeliveredNotification(identifier: "\(user) \(room)/\(seq)", reading: text.utf8)
  }

  /// The notifications of a phone with two accounts.
  static let delivered = [
    communication("ann", "tea", 1), communication("ann", "tea", 2), communication("ann", "tea", 3),
    communication("ann", "cake", 1), communication("bob", "tea", 1),
    DeliveredNotification(
      identifier: "digest", reading: #"{"push":{"recipient":"ann"},"message":{"room":"den","seq":9}}"#.utf8),
    DeliveredNotification(
      identifier: "two rooms",
      reading:
        #"{"push":{"recipient":"ann"},"message":{"room":"two","seq":9},"digest":[{"room":"two","seq":9,"count":2},{"room":"one","seq":4,"count":1}]}"#
        .utf8),
    DeliveredNotification(
      identifier: "replaced",
      reading: #"{"push":{"recipient":"ann","replaces":{"room":"bar","seq":5}},"message":{"room":"pub","seq":3}}"#.utf8),
    DeliveredNotification(
      identifier: "invitation",
      reading: #"{"push":{"recipient":"ann","replaces":{"room":"books","seq":0}},"invitation":{"room":"books"}}"#.utf8),
    DeliveredNotification(identifier: "plain", reading: #"{"push":{"recipient":"ann"}}"#.utf8),
    DeliveredNotification(identifier: "nobody", reading: #"{"push":{},"message":{"room":"tea","seq":1}}"#.utf8),
    DeliveredNotification(identifier: "other", reading: #"{"aps":{},"message":{"room":"tea","seq":1}}"#.utf8),
    DeliveredNotification(identifier: "invalid", reading: "[".utf8),
  ]

  /// Members beside `aps` and the ids, and the identifiers of the notifications that they remove.
  static let table: [(String, [String])] = [
    (#""read":[{"room":"tea","seq":2}]"#, ["ann tea/1", "ann tea/2"]),
    (
      #""read":[{"room":"tea","seq":9},{"room":"cake","seq":1}]"#,
      ["ann tea/1", "ann tea/2", "ann tea/3", "ann cake/1"]
    ),
    (#""read":[{"room":"den","seq":8}]"#, []), (#""read":[{"room":"den","seq":9}]"#, ["digest"]),
    (#""removed":[{"room":"tea","seq":2}]"#, ["ann tea/2"]),
    // A digest is read when each of its rooms is read.
    (#""read":[{"room":"two","seq":9}]"#, []), (#""read":[{"room":"one","seq":4}]"#, []),
    (#""read":[{"room":"two","seq":9},{"room":"one","seq":3}]"#, []),
    (#""read":[{"room":"two","seq":9},{"room":"one","seq":4}]"#, ["two rooms"]),
    (#""removed":[{"room":"two","seq":9}]"#, ["two rooms"]), (#""removed":[{"room":"one","seq":4}]"#, []),
    // A notification keeps the name of the one that it has replaced, but its message is the new one.
    (#""removed":[{"room":"bar","seq":5}]"#, ["replaced"]), (#""removed":[{"room":"pub","seq":3}]"#, []),
    (#""read":[{"room":"bar","seq":5}]"#, []), (#""read":[{"room":"pub","seq":3}]"#, ["replaced"]),
    // An invitation has no message, so no read removes it.
    (#""removed":[{"room":"books","seq":0}]"#, ["invitation"]), (#""read":[{"room":"books","seq":9}]"#, []),
    (#""removed":[{"room":"tea","seq":3},{"room":"tea","seq":7}]"#, ["ann tea/3"]),
    (#""read":[{"room":"tea","seq":1}],"removed":[{"room":"tea","seq":3}]"#, ["ann tea/1", "ann tea/3"]),
    (#""read":[],"removed":[]"#, []), (#""message":{"room":"tea","seq":3}"#, []),
    (#""read":{"room":"tea","seq":2},"removed":7"#, []),
    (
      #""read":[7,{},{"room":"","seq":9},{"room":"tea"},{"room":"tea","seq":"2"},{"room":"tea","seq":0},{"room":"tea","seq":1}]"#,
      ["ann tea/1"]
    ),
  ]

  @Test(arguments: table.indices) func `a push removes the notifications of its recipient`(_ index: Int) {
    let (members, removed) = Self.table[index]
    for own in [#""push":{"recipient":"ann"}"#, #""communication":{"recipient":"ann","sender":{"id":"eve"}}"#] {
      let push = #"{"aps":{"badge":1},\#(own),\#(members)}"#
      #expect(Withdrawal(reading: push.utf8).identifiers(in: Self.delivered) == removed, "\(push)")
    }
  }

  @Test func `a push without a recipient, or of another sender, removes nothing of a user`() {
    let read = #""read":[{"room":"tea","seq":9}]"#
    #expect(Withdrawal(reading: #"{"push":{},\#(read)}"#.utf8).identifiers(in: Self.delivered) == ["nobody"])
    #expect(Withdrawal(reading: #"{"aps":{},\#(read)}"#.utf8).identifiers(in: Self.delivered) == [])
    #expect(Withdrawal(reading: "{".utf8).isEmpty)
    let long = #"{"push":{"recipient":"ann"},\#(read),"x":"\#(String(repeating: "x", count: 5_120))"}"#
    #expect(Withdrawal(reading: long.utf8).isEmpty)
  }

  @Test func `a push has at most 20 entries, and the read positions come first`() {
    func entries(_ count: Int64) -> String {
      "[" + (0..<count).map { Self.message("r\($0)", 1) }.joined(separator: ",") + "]"
    }
    for (read, removed, expected) in [
      (21, 0, (20, 0)), (15, 15, (15, 5)), (20, 20, (20, 0)), (0, 30, (0, 20)), (3, 4, (3, 4)),
    ] {
      let push = #"{"push":{},"read":\#(entries(Int64(read))),"removed":\#(entries(Int64(removed)))}"#
      let withdrawal = Withdrawal(reading: push.utf8)
      #expect((withdrawal.read.count, withdrawal.removed.count) == expected)
      #expect(withdrawal.isEmpty == false)
    }
  }

  /// Payloads, and their origins.
  static let origins: [(String, PushOrigin)] = [
    (#"{"communication":{"recipient":"ann"}}"#, .relay("ann")), (#"{"push":{"recipient":"ann"}}"#, .relay("ann")),
    (#"{"push":{}}"#, .relay(nil)), (#"{"push":{"recipient":""}}"#, .relay(nil)),
    (#"{"communication":{"recipient":7}}"#, .relay(nil)), (#"{"aps":{"alert":"sale"}}"#, .other), ("7", .other),
  ]

  @Test(arguments: origins.indices) func `a payload names its recipient`(_ index: Int) {
    #expect(PushOrigin(reading: Self.origins[index].0.utf8) == Self.origins[index].1)
    #expect(PushOrigin(reading: Self.origins[index].0.utf8).recipient == (index < 2 ? "ann" : nil))
  }
}
