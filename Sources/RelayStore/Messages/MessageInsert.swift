// SPDX-License-Identifier: Apache-2.0
import GRDB
import RelayJSON
import RelayProtocol

/// The statements that insert a message under the newest seq of its room. Belongs to the writer's thread, for one
/// transaction.
struct MessageInsert {
  private let plain, full: BoundStatement

  init(_ db: Database) throws {
    plain = try BoundStatement(db, "INSERT INTO messages (room, seq, sender, time, body) VALUES (?, ?, ?, ?, ?)")
    full = try BoundStatement(
      db,
      """
      INSERT INTO messages
        (room, seq, sender, time, body, mentions, reply_to, is_uncounted, reports, is_response, push, push_kind,
          push_category, push_collapse)
      VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
      """)
  }

  func run(_ draft: MessageDraft, _ room: WriterCache.Room, _ sender: Int64) throws {
    // Most messages have only a body. The plain statement saves the cost of binding the other values.
    let statement = draft.isPlain ? plain : full
    try statement.bind(1, room.id)
    try statement.bind(2, room.seq)
    try statement.bind(3, sender)
    try statement.bind(4, draft.time.rawValue)
    guard !draft.isPlain else {
      return try draft.body.withUnsafeBytes { body in
        try statement.bind(5, body)
        try statement.run()
      }
    }
    try statement.bind(6, draft.mentions.isEmpty ? nil : StoredJSON.text(of: draft.mentions))
    try statement.bind(7, draft.replyTo)
    try statement.bind(8, draft.isCounted ? 0 : 1)
    try statement.bind(9, draft.reports ? 1 : 0)
    try statement.bind(10, draft.response == nil ? 0 : 1)
    // A parameter that is not bound is NULL.
    if let push = draft.push {
      try statement.bind(12, push.kind == .message ? nil : push.kind.rawValue)
      try statement.bind(13, push.style.category?.rawValue)
      try statement.bind(14, push.style.collapse == .message ? nil : push.style.collapse.rawValue)
    }
    try draft.body.withUnsafeBytes { body in
      try (draft.push?.storedRest ?? []).withUnsafeBytes { push in
        try statement.bind(5, body)
        if draft.push != nil { try statement.bind(11, push) }
        try statement.run()
      }
    }
  }
}
