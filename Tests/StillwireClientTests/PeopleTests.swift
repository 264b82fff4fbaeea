// SPDX-License-Identifier: Apache-2.0
// Tests the people of a room in the Swift client.
import RelayJSON
import RelayProtocol
import Testing

@testable import StillwireClient

@Suite struct PeopleTests {
  private let tea = People().after(
    .shown(
      entries: [Presence(user: "ann", isOnline: true), Presence(user: "bob", name: "Bob")], memberCount: 2,
      onlineCount: 1))

  @Test func `a snapshot replaces all people`() {
    #expect(tea.entries.keys.sorted() == ["ann", "bob"])
    #expect(tea.isListed)
    #expect(tea.after(.shown(entries: nil, memberCount: 400, onlineCount: 9)).entries.isEmpty)
  }

  @Test func `an entry replaces the earlier entry completely`() {
    let next = tea.after(.changed(Presence(user: "bob", isOnline: true, isFocused: true)))
    #expect(next["bob"] == Presence(user: "bob", isOnline: true, isFocused: true))
    #expect(next.onlineCount == 2)
    #expect(next.silenced.map(\.user) == ["bob"])
    #expect(next.reachable.map(\.user) == ["ann"])
  }

  @Test func `the presence of a user who is not a member is ignored`() {
    #expect(tea.after(.changed(Presence(user: "cem", isOnline: true))) == tea)
  }

  @Test func `a user who joins is added, and a user who leaves is removed`() {
    let more = tea.after(.joined("cem", name: "Cem", memberCount: 3))
    #expect(more["cem"] == Presence(user: "cem", name: "Cem"))
    #expect(more.memberCount == 3)
    let online = Presence(user: "dan", name: "Dan", isOnline: true)
    let four = more.after(.joined("dan", name: "Dan", presence: online, memberCount: 4))
    #expect(four["dan"] == online)
    #expect(four.onlineCount == more.onlineCount + 1)
    #expect(four.after(.joined("dan", name: "Dan", memberCount: 4))["dan"] == online)
    let fewer = more.after(.left("ann", memberCount: 2))
    #expect(fewer["ann"] == nil)
    #expect(fewer.onlineCount == 0)
  }

  @Test func `a restriction is part of the entry, and the presence of the user does not end it`() throws {
    let end = Timestamp(rawValue: 9)
    let restricted = tea.after(.restricted("bob", until: end))
    #expect(restricted["bob"]?.restrictedUntil == end && restricted["bob"]?.name == "Bob")
    #expect(restricted.memberCount == 2)
    let online = restricted.after(.changed(Presence(user: "bob", isOnline: true)))
    #expect(online["bob"] == Presence(user: "bob", isOnline: true, restrictedUntil: end))
    #expect(online.after(.restricted("bob", until: nil))["bob"] == Presence(user: "bob", isOnline: true))
    #expect(tea.after(.restricted("cem", until: end)) == tea)
  }

  @Test func `a room that becomes large has only counts`() {
    let large = tea.after(.counted(memberCount: 300, onlineCount: 200))
    #expect(large.entries.isEmpty)
    #expect(!large.isListed)
    #expect(large.after(.joined("dan", name: nil, memberCount: 301)).entries.isEmpty)
    #expect(large.after(.counted(memberCount: 301, onlineCount: 200)).memberCount == 301)
  }

  @Test(arguments: [(true, true), (false, false), (nil, false)] as [(Bool?, Bool)])
  func `only a known Focus counts as silenced`(_ isFocused: Bool?, _ isSilenced: Bool) {
    #expect(Presence(user: "bob", isFocused: isFocused).isSilenced == isSilenced)
  }

  @Test func `an entry has the status that the user shares`() throws {
    func status(_ text: String) -> UserStatus? {
      JSON(reading: Array(#"{"user":"bob","online":false,"isFocused":null,"status":\#(text)}"#.utf8))
        .flatMap(Presence.init)?.status
    }
    #expect(
      status(#"{"text":"Lunch","emoji":"x","until":5}"#)
        == UserStatus(
          text: "Lunch", emoji: "x", until: Timestamp(rawValue: 5)))
    #expect(status(#"{"emoji":"x"}"#) == UserStatus(emoji: "x"))
    #expect(status("{}") == nil && status("null") == nil && status("\"old\"") == nil)
  }

  @Test func `a request sets the given parts of a status`() {
    let full = UserStatus(text: "Lunch", emoji: "x", until: Timestamp(rawValue: 5))
    #expect(
      UserStatus.fields(setting: full) == ["text": .string("Lunch"), "emoji": .string("x"), "until": .number("5")])
    #expect(UserStatus.fields(setting: nil).isEmpty)
  }
}
