// SPDX-License-Identifier: Apache-2.0
import GRDB
import RelayJSON
import RelayProtocol

@testable import RelayStore

extension Disk {
  /// Reads the newest changes of all messages.
  static func changes(_ db: Database) throws -> [RoomID: ChangeModel] {
    var changes: [RoomID: [ChangeModel.Change]] = [:]
    for row in try db.all(
      """
      SELECT rooms.name, messages.seq, messages.change, changed_time, is_deleted, body, users.name FROM messages
      JOIN rooms ON rooms.id = messages.room LEFT JOIN users ON users.id = messages.moderator
      WHERE messages.change IS NOT NULL
      """)
    {
      let isDeleted: Bool = row[4]
      let moderator: String? = row[6]
      let value: ChangeModel.Value =
        isDeleted
        ? .deleted(by: moderator.map(UserID.init(unchecked:)))
        : .edited(body: Int(String(decoding: try row.bytes(5).dropFirst().dropLast(), as: UTF8.self)) ?? -1)
      changes[RoomID(unchecked: row[0]), default: []].append(
        ChangeModel.Change(number: row[2], seq: row[1], time: Timestamp(rawValue: row[3]), value: value))
    }
    for row in try db.all(
      """
      SELECT rooms.name, annotations.seq, annotations.change, changed_time, kind, value FROM annotations
      JOIN rooms ON rooms.id = annotations.room
      """)
    {
      let stored: [UInt8]? = try row.bytesIfAny(5)
      let kind: Annotation.Kind = try row.choice(4)
      let value: ChangeModel.Value =
        switch kind {
        case .reactions: .reactions(try ChangeModel.groups(JSON(reading: stored ?? Array("[]".utf8))))
        case .pinned: .pinned(stored != nil)
        }
      changes[RoomID(unchecked: row[0]), default: []].append(
        ChangeModel.Change(number: row[2], seq: row[1], time: Timestamp(rawValue: row[3]), value: value))
    }
    var reactions: [RoomID: [(seq: Int64, reaction: ChangeModel.Reaction)]] = [:]
    for row in try db.all(
      """
      SELECT rooms.name, reactions.seq, key, users.name FROM reactions
      JOIN rooms ON rooms.id = reactions.room JOIN users ON users.id = reactions.user ORDER BY reactions.change
      """)
    {
      reactions[RoomID(unchecked: row[0]), default: []].append(
        (row[1], ChangeModel.Reaction(key: row[2], user: UserID(unchecked: row[3]))))
    }
    return Dictionary(
      uniqueKeysWithValues: try db.all("SELECT name, change FROM rooms").map { row in
        let room = RoomID(unchecked: row[0])
        return (room, ChangeModel(newest: row[1], changes[room] ?? [], reactions: reactions[room] ?? []))
      })
  }
}

extension ChangeModel {
  /// Parses a list of reactions.
  static func groups(_ list: JSON?) throws -> [ReactionGroup] {
    guard case .array(let items)? = list else { throw Violation(.changed, "reactions are no list") }
    return try items.map { item in
      let fields = try Fields(item)
      return ReactionGroup(
        key: try fields.string("key", maxLength: 64) ?? "",
        count: Int(try fields.integer("count", 0...maxInteger) ?? 0),
        users: try fields.names("users", max: 256) ?? [])
    }
  }
}
