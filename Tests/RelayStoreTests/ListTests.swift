// SPDX-License-Identifier: Apache-2.0
import RelayProtocol
import Testing

@testable import RelayStore

/// The lists of all users and rooms.
@Suite struct ListTests {
  let test: TestStore
  init() throws { test = try TestStore() }

  /// Reads all pages of a list. Returns the names of each page.
  private func pages<Entry>(
    limit: Int, _ read: (_ after: String?) async throws -> [Entry], _ name: (Entry) -> String
  ) async throws -> [[String]] {
    var pages: [[String]] = []
    while true {
      let page = try await read(pages.last?.last).map(name)
      if page.isEmpty { return pages }
      pages.append(page)
    }
  }

  private func rooms(prefix: String? = nil, after: String? = nil, limit: Int = 99) async throws -> [ListedRoom] {
    try await test.read { try $0.rooms.rooms(in: NameRange(prefix: prefix, after: after), limit: limit) }
  }

  private func users(prefix: String? = nil, after: String? = nil, limit: Int = 99) async throws -> [String] {
    try await test.read {
      try $0.people.users(in: NameRange(prefix: prefix, after: after), limit: limit).map(\.id.rawValue)
    }
  }

  private func online(prefix: String? = nil, after: String? = nil, limit: Int = 99) async throws -> [String]? {
    try await test.read { reader in
      try reader.people.onlineUsers(
        after: after.map(UserID.init(unchecked:)), in: NameRange(prefix: prefix), limit: limit)?.map(\.id.rawValue)
    }
  }

  private func makeRooms(_ names: [String]) async throws {
    try await test.write { transaction in
      for name in names { try transaction.rooms.create(RoomID(unchecked: name), epoch: "e") }
    }
  }

  @Test(arguments: 1...4) func `pages of rooms have each room once, in the order of the names`(limit: Int) async throws
  {
    let names = ["!x", "-x", "0", "A", "a", "a.b", "b", "~"]
    try await makeRooms(names.reversed())
    let found = try await pages(limit: limit) {
      try await rooms(after: $0, limit: limit)
    } _: {
      $0.room.rawValue
    }
    #expect(found.flatMap(\.self) == names)
    #expect(found.dropLast().allSatisfy { $0.count == limit })
    #expect(try await rooms(prefix: "a").map(\.room.rawValue) == ["a", "a.b"])
    #expect(try await rooms(prefix: "a", after: "a").map(\.room.rawValue) == ["a.b"])
    #expect(try await rooms(prefix: "c").isEmpty)
  }

  @Test func `a page goes on behind a room that was deleted`() async throws {
    try await makeRooms(["a", "b", "c"])
    try await test.write { try $0.rooms.delete(RoomID(unchecked: "b"), by: .backend) }
    #expect(try await rooms(after: "b").map(\.room.rawValue) == ["c"])
    #expect(try await rooms().map(\.room.rawValue) == ["a", "c"])
  }

  @Test func `an entry has the members, the title and the newest message, and rooms of notifications have none`()
    async throws
  {
    try await test.write { transaction in
      try transaction.prepareRoom()
      _ = try transaction.messages.append(draft())
      _ = try transaction.messages.post(draft(in: .notifications(of: bob.id)), epoch: "e")
      _ = try transaction.rooms.make(
        RoomDraft(
          room: RoomID(unchecked: "zoo"), epoch: "e", details: RoomDetails(title: "Animals"), creator: alice,
          members: []))
    }
    #expect(
      try await rooms() == [
        ListedRoom(room: room, seq: 1, members: 2, kind: .group, title: nil),
        ListedRoom(room: RoomID(unchecked: "zoo"), seq: 0, members: 1, kind: .group, title: "Animals"),
      ])
  }

  @Test func `the recent rooms are those with the newest messages`() async throws {
    let names = ["a", "b", "c"]
    try await test.write { transaction in
      for name in names { try transaction.prepareRoom(RoomID(unchecked: name)) }
      for name in ["c", "a"] { _ = try transaction.messages.append(draft(in: RoomID(unchecked: name))) }
      _ = try transaction.messages.post(draft(in: .notifications(of: bob.id)), epoch: "e")
    }
    func recent(_ limit: Int) async throws -> [String] {
      try await test.read { try $0.rooms.recentRooms(limit: limit).map(\.room.rawValue) }
    }
    #expect(try await recent(9) == ["a", "c", "b"])
    #expect(try await recent(2) == ["a", "c"])
    try await test.write { try $0.rooms.delete(RoomID(unchecked: "a"), by: .backend) }
    #expect(try await recent(9) == ["c", "b"])
  }

  @Test(arguments: 1...3) func `pages of users have each user once, in the order of the names`(limit: Int) async throws
  {
    let names = ["!ann", "bob", "bob.2", "eve"]
    try await test.write { transaction in
      for name in names.reversed() { try transaction.people.touch(UserID(unchecked: name), lastSeen: .at(0)) }
    }
    let found = try await pages(limit: limit) {
      try await users(after: $0, limit: limit)
    } _: {
      $0
    }
    #expect(found.flatMap(\.self) == names)
    #expect(try await users(prefix: "bob") == ["bob", "bob.2"])
    #expect(try await users(prefix: "bob", after: "bob") == ["bob.2"])
  }

  @Test func `a name that only a ban has mentioned is not a user`() async throws {
    try await test.write { transaction in
      try transaction.prepareRoom()
      _ = try transaction.rooms.remove(UserID(unchecked: "ghost"), from: room, by: .backend, ban: RoomBan())
    }
    #expect(try await users() == [alice.id.rawValue, bob.id.rawValue])
  }

  @Test func `an entry of a user has the name, the devices and the time`() async throws {
    try await test.write { transaction in
      try transaction.prepareRoom()
      try transaction.people.rename(User(id: bob.id, name: "Bobby"))
      try transaction.people.savePresence(of: bob.id, lastSeen: .at(0), activity: nil)
    }
    let found = try await test.read { try $0.people.users(in: NameRange(prefix: bob.id.rawValue), limit: 9) }
    #expect(found == [ListedUser(id: bob.id, name: "Bobby", lastSeen: .at(0), devices: 1)])
  }

  @Test func `the users who are online have the order in which they came, also behind one who has left`() async throws {
    try await test.write { transaction in
      for name in ["eve", "bob", "ann", "bea"] {
        try transaction.people.savePresence(of: UserID(unchecked: name), lastSeen: .at(0), activity: .active)
      }
      try transaction.people.saveOffline([UserID(unchecked: "bob")])
    }
    #expect(try await online() == ["eve", "ann", "bea"])
    #expect(try await online(limit: 2) == ["eve", "ann"])
    #expect(try await online(after: "ann") == ["bea"])
    #expect(try await online(after: "bob") == ["ann", "bea"])
    #expect(try await online(prefix: "b") == ["bea"])
    #expect(try await online(after: "nobody") == nil)
  }
}
