// SPDX-License-Identifier: Apache-2.0
import RelayProtocol
import RelayStore
import Testing

@testable import RelayState

@Suite struct RoomChangesTests {
  private var changes = RoomChanges()

  private static func edit(_ seq: Int64, _ change: Int64, _ body: String = "\"new\"") -> ChangedMessage {
    ChangedMessage(seq: seq, change: change, time: Timestamp(rawValue: 100 + change), body: Array(body.utf8))
  }

  private static func annotation(_ seq: Int64, _ change: Int64, _ kind: Annotation.Kind, _ value: String?)
    -> ChangedMessage
  {
    ChangedMessage(
      seq: seq, change: change, time: Timestamp(rawValue: 100 + change), body: nil,
      annotation: Annotation(kind, value.map { Array($0.utf8) }))
  }

  private static func message(_ seq: Int64) -> StoredMessage {
    StoredMessage(seq: seq, from: UserID(unchecked: "ann"), time: Timestamp(rawValue: seq), body: Array("\"old\"".utf8))
  }

  @Test mutating func `only the changes during a read are kept`() {
    changes.append(Self.edit(1, 1), newest: 5)
    let mark = changes.beginRead()
    #expect(changes.changes(since: mark)?.isEmpty == true)
    changes.append(Self.edit(2, 2), newest: 6)
    let second = changes.beginRead()
    changes.append(Self.edit(3, 3), newest: 7)
    #expect(changes.changes(since: mark)?.map(\.change) == [2, 3])
    #expect(changes.changes(since: second)?.map(\.change) == [3])
    changes.endRead()
    #expect(changes.changes(since: second)?.map(\.change) == [3])
    changes.endRead()
    #expect(changes.changes(since: changes.beginRead())?.isEmpty == true)
    #expect((changes.newest, changes.change) == (7, 3))
  }

  @Test mutating func `a read with too many changes has none`() {
    let mark = changes.beginRead()
    for number in 1...Int64(RoomChanges.maxRecent) { changes.append(Self.edit(1, number), newest: 1) }
    #expect(changes.changes(since: mark)?.count == RoomChanges.maxRecent)
    let late = changes.beginRead()
    changes.append(Self.edit(1, 1_000), newest: 1)
    #expect(changes.changes(since: mark) == nil)
    #expect(changes.changes(since: late)?.map(\.change) == [1_000])
  }

  @Test mutating func `a read with too large changes has none`() {
    let mark = changes.beginRead()
    changes.append(Self.edit(1, 1, String(repeating: "x", count: RoomChanges.maxBytes)), newest: 1)
    #expect(changes.changes(since: mark)?.count == 1)
    changes.append(Self.edit(1, 2, "1"), newest: 1)
    #expect(changes.changes(since: mark) == nil)
  }

  @Test mutating func `a room that has left the memory during a read has no changes of it`() {
    let mark = changes.beginRead()
    changes.append(Self.edit(1, 1), newest: 1)
    let later = changes.beginRead()
    var loaded = RoomChanges(newest: 1, change: 1)
    #expect(loaded.changes(since: mark)?.isEmpty == true)
    #expect(loaded.changes(since: later) == nil)
    loaded.endRead()
    #expect(loaded.changes(since: loaded.beginRead())?.isEmpty == true)
  }

  @Test func `changes of the store and of the hub are merged by number`() {
    let stored = [Self.edit(4, 7), Self.edit(2, 9, "\"stored\"")]
    let during = [Self.edit(2, 8), Self.edit(2, 9, "\"shown\""), Self.edit(1, 10)]
    let merged = RoomChanges.merged(stored, during)
    #expect(merged.map(\.change) == [7, 8, 9, 10])
    #expect(merged.map(\.seq) == [4, 2, 2, 1])
    #expect(RoomChanges.merged(stored, []) == stored)
  }

  @Test func `changes during a read apply to its messages`() {
    let during: [ChangedMessage] = [
      Self.edit(1, 1), Self.edit(1, 2, "\"newest\""), Self.annotation(2, 3, .reactions, "[1]"),
      Self.annotation(2, 4, .pinned, "77"), Self.annotation(3, 5, .reactions, nil),
      ChangedMessage(seq: 4, change: 6, time: Timestamp(rawValue: 106), body: nil, moderator: UserID(unchecked: "bob")),
      Self.annotation(4, 7, .pinned, "78"), Self.edit(9, 8),
    ]
    var reacted = Self.message(3)
    reacted.reactions = Array("[2]".utf8)
    let read = [Self.message(1), Self.message(2), reacted, Self.message(4), Self.message(5)]
    let applied = RoomChanges.apply(during[...], .preview, to: read)
    #expect(applied.map(\.seq) == [1, 2, 3, 4, 5])
    #expect(applied[0].body == Array("\"newest\"".utf8) && applied[0].edited?.rawValue == 102)
    #expect(applied[1].reactions == Array("[1]".utf8) && applied[1].pinned?.rawValue == 77)
    #expect(applied[1].body == read[1].body && applied[1].edited == nil)
    #expect(applied[2].reactions == nil)
    #expect(
      applied[3].isDeleted && applied[3].body.isEmpty && applied[3].moderator?.rawValue == "bob"
        && applied[3].pinned == nil)
    #expect(applied[4] == read[4])
  }

  @Test func `changes during a read apply to its quotes`() {
    func reply(to seq: Int64, _ preview: String?) -> StoredMessage {
      var message = Self.message(9)
      message.quote = Quote(seq: seq, from: UserID(unchecked: "ann"), preview: preview)
      return message
    }
    let during: [ChangedMessage] = [
      Self.edit(1, 1, "{\"text\":\"newest\"}"), Self.annotation(2, 2, .reactions, "[1]"),
      ChangedMessage(seq: 3, change: 3, time: Timestamp(rawValue: 103), body: nil),
    ]
    let read = [reply(to: 1, "old"), reply(to: 2, "old"), reply(to: 3, "old"), Self.message(4)]
    let quotes = RoomChanges.apply(during[...], .preview, to: read).map(\.quote)
    #expect(quotes.map { $0?.preview } == ["newest", "old", nil, nil])
    #expect(quotes.map { $0?.isDeleted } == [false, false, true, nil])
    let senders = RoomChanges.apply(during[...], .sender, to: [reply(to: 1, nil)])
    #expect(senders[0].quote?.preview == nil)
  }
}
