// SPDX-License-Identifier: Apache-2.0
import RelayProtocol
import Testing

/// The collapse id of messages: its length, and that it is unique.
@Suite struct CollapseIDTests {
  private func id(_ length: Int, _ seq: Int64, for user: String = "bob") -> String {
    CollapseID.of(
      MessageReference(room: RoomID(unchecked: String(repeating: "r", count: length)), seq: seq),
      for: UserID(unchecked: user))
  }

  @Test func `room and seq are readable up to 64 bytes`() {
    #expect(id(52, 42) == String(repeating: "r", count: 52) + "/42/7e6e6f94")
    #expect(id(52, 42).utf8.count == 64)
  }

  @Test(arguments: [53, 54, 64, 255])
  func `the name of a longer room is replaced by a hash after a slash`(length: Int) {
    let id = id(length, 42)
    #expect(id.wholeMatch(of: /\/[0-9a-f]{32}\/42\/7e6e6f94/) != nil)
  }

  @Test func `an id with the largest seq is within the limit`() {
    #expect(id(255, .max).utf8.count <= 64)
  }

  @Test func `different messages and rooms have different ids`() {
    let ids = [52, 53, 255].flatMap { length in [1, 2, 3].map { id(length, $0) } }
    #expect(Set(ids).count == 9)
  }

  @Test(arguments: [9, 255]) func `the accounts of one phone have different ids of a message`(length: Int) {
    let users = (0..<100).map { "user-\($0)" }
    #expect(Set(users.map { id(length, 1, for: $0) }).count == 100)
    // Each id has the same length.
    #expect(Set(users.map { id(length, 1, for: $0).utf8.count }).count == 1)
  }

  @Test func `the newest message of a room has an id of its own`() {
    let room = RoomID(unchecked: "tea")
    #expect(CollapseID.newest(in: room, for: UserID(unchecked: "bob")) == "tea/newest/7e6e6f94")
  }

  @Test(arguments: [
    ("", "6c62272e07bb014262b821756295c58d"), ("a", "d228cb696f1a8caf78912b704e4a8964"),
    ("foobar", "343e1662793c64bf6f0d3597ba446f18"),
  ])
  func `the hash is FNV-1a`(text: String, hash: String) {
    #expect(CollapseID.hash(text.utf8) == hash)
  }
}
