// SPDX-License-Identifier: Apache-2.0
import GRDB
public import RelayProtocol

extension Reader {
  /// The oldest messages above `seq`; `more` says that newer ones follow. nil: there is no such room.
  /// - Parameters:
  ///   - kept: So many of the newest are the history, whatever else is still there.
  ///   - mostBytes: With longer bodies together there are none, and `exceeds` is true.
  ///   - pageBytes: No more bodies are read than are together so long, and `more` is true; one at least.
  public func messages(
    _ room: RoomID, after seq: Int64, limit: Int, kept: Int = .max, mostBytes: Int? = nil, pageBytes: Int = .max
  ) throws -> MessagePage? {
    try page(
      room,
      """
      SELECT seq, users.name, time, body FROM messages JOIN users ON users.id = sender
      WHERE room = ?1 AND seq > max(?3, ?2 - 1) ORDER BY seq
      """,
      from: seq, limit: limit, kept: kept, mostBytes: mostBytes, pageBytes: pageBytes)
  }

  /// The newest messages below `seq`, or of all; `more` says that older ones precede. nil: there is no such room.
  /// - Parameters:
  ///   - kept: So many of the newest are the history, whatever else is still there.
  ///   - mostBytes: With longer bodies together there are none, and `exceeds` is true.
  ///   - pageBytes: No more bodies are read than are together so long, and `more` is true; one at least.
  public func messages(
    _ room: RoomID, before seq: Int64?, limit: Int, kept: Int = .max, mostBytes: Int? = nil, pageBytes: Int = .max
  ) throws -> MessagePage? {
    var page = try page(
      room,
      """
      SELECT seq, users.name, time, body FROM messages JOIN users ON users.id = sender
      WHERE room = ?1 AND seq >= ?2 AND seq < ?3 ORDER BY seq DESC
      """,
      from: seq ?? .max, limit: limit, kept: kept, mostBytes: mostBytes, pageBytes: pageBytes)
    page?.messages.reverse()
    return page
  }

  /// What the decision needs of the messages above the room's cursor, oldest first: no bodies.
  public func undecided(in room: RoomID) throws -> [UndecidedRecord] {
    try db.all(
      """
      SELECT messages.seq, users.name, time FROM rooms
      JOIN messages ON messages.room = rooms.id AND messages.seq > rooms.cursor
      JOIN users ON users.id = sender
      WHERE rooms.name = ? ORDER BY messages.seq
      """,
      [room.rawValue]
    ).map { UndecidedRecord(seq: $0[0], from: UserID(unchecked: $0[1]), time: Timestamp(rawValue: $0[2])) }
  }

  private func page(
    _ room: RoomID, _ query: String, from seq: Int64, limit: Int, kept: Int, mostBytes: Int?, pageBytes: Int
  ) throws -> MessagePage? {
    let found = try db.first("SELECT id, epoch, seq, first FROM rooms WHERE name = ?", [room.rawValue])
    guard let found else { return nil }
    let newest: Int64 = found[2]
    let first = max(found[3], Int64(clamping: kept) < newest ? newest - Int64(kept) + 1 : 1)
    var page = MessagePage(epoch: found[1], newest: newest, first: first, messages: [], more: false)
    var bytes = 0
    let rows = try Row.fetchCursor(
      db.cachedStatement(sql: query), arguments: [found[0] as Int64, first, seq])
    while let row = try rows.next() {
      guard page.messages.count < limit else {
        page.more = true
        break
      }
      let message = StoredMessage(
        seq: row[0], from: UserID(unchecked: row[1]), time: Timestamp(rawValue: row[2]), body: try row.bytes(3))
      bytes += message.body.count
      if let mostBytes, bytes > mostBytes {
        page.messages = []
        page.exceeds = true
        break
      }
      if bytes > pageBytes, !page.messages.isEmpty {
        page.more = true
        break
      }
      page.messages.append(message)
    }
    return page
  }
}
