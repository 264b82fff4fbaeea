// SPDX-License-Identifier: Apache-2.0
import GRDB
public import RelayProtocol

extension Reader {
  /// The oldest messages above `seq`; `more` says that newer ones follow. nil: there is no such room.
  /// - Parameter mostBytes: With longer bodies together there are none, and `exceeds` is true.
  public func messages(
    _ room: RoomID, after seq: Int64, limit: Int, mostBytes: Int? = nil
  ) throws -> MessagePage? {
    try page(
      room,
      """
      SELECT seq, users.name, time, body FROM messages JOIN users ON users.id = sender
      WHERE room = ? AND seq > ? ORDER BY seq
      """,
      from: seq, limit: limit, mostBytes: mostBytes)
  }

  /// The newest messages below `seq`, or of all; `more` says that older ones precede. nil: there is no such room.
  /// - Parameter mostBytes: With longer bodies together there are none, and `exceeds` is true.
  public func messages(
    _ room: RoomID, before seq: Int64?, limit: Int, mostBytes: Int? = nil
  ) throws -> MessagePage? {
    var page = try page(
      room,
      """
      SELECT seq, users.name, time, body FROM messages JOIN users ON users.id = sender
      WHERE room = ? AND seq < ? ORDER BY seq DESC
      """,
      from: seq ?? .max, limit: limit, mostBytes: mostBytes)
    page?.messages.reverse()
    return page
  }

  private func page(
    _ room: RoomID, _ query: String, from seq: Int64, limit: Int, mostBytes: Int?
  ) throws -> MessagePage? {
    let found = try db.first(
      """
      SELECT id, epoch, seq, (SELECT min(seq) FROM messages WHERE room = rooms.id) FROM rooms WHERE name = ?
      """,
      [room.rawValue])
    guard let found else { return nil }
    let newest: Int64 = found[2]
    var page = MessagePage(
      epoch: found[1], newest: newest, first: found[3] ?? newest + 1, messages: [], more: false)
    var bytes = 0
    let rows = try Row.fetchCursor(
      db.cachedStatement(sql: query), arguments: [found[0] as Int64, seq])
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
      page.messages.append(message)
    }
    return page
  }
}
