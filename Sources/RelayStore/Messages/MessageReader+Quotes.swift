// SPDX-License-Identifier: Apache-2.0
import GRDB
import RelayJSON
public import RelayProtocol

/// The messages that replies answer, read together with the replies.
///
/// A reply stores only the seq of the message that it answers. So a quote always has the current state of this message:
/// after an edit, a deletion, the erasure of its sender, or its end in the history.
extension MessageReader {
  /// Adds the quotes to the replies of a page. The order of the messages is that in which the page reads them. A page
  /// without replies runs no statement.
  /// - Parameter maxBytes: The maximum of the bodies of all quoted messages, in bytes. The page then ends early, before
  ///   the first reply without its quote, and `more` is true. At least one quoted message is read.
  func addQuotes(to page: inout MessagePage, in room: Int64, _ parts: QuotedParts, maxBytes: Int) throws {
    guard parts != .nothing else { return }
    var wanted: [Int64] = []
    var known: Set<Int64> = []
    for case let seq? in page.messages.lazy.map(\.replyTo) where seq >= page.first && known.insert(seq).inserted {
      wanted.append(seq)
    }
    guard !wanted.isEmpty else { return }
    let (quotes, unread) = try quotes(of: wanted, in: room, parts, maxBytes: maxBytes)
    if let unread, let end = page.messages.firstIndex(where: { $0.replyTo == unread }) {
      page.messages.removeSubrange(end...)
      page.more = true
    }
    for index in page.messages.indices {
      page.messages[index].quote = page.messages[index].replyTo.flatMap { quotes[$0] }
    }
  }

  /// The sender of a message. Is `nil` if the history does not have the message, or has deleted it.
  public func sender(of seq: Int64, in room: RoomID) throws -> UserID? {
    try db.first(
      """
      SELECT users.name FROM rooms JOIN messages ON messages.room = rooms.id AND messages.seq = ?2
      JOIN users ON users.id = messages.sender
      WHERE rooms.name = ?1 AND NOT messages.is_deleted AND messages.seq >= rooms.first
      """,
      [room.rawValue, seq]
    ).map { UserID(unchecked: $0[0]) }
  }

  /// The quotes of stored messages by seq.
  /// - Returns: The quotes, and the first seq that was not read because of `maxBytes`.
  fileprivate func quotes(
    of seqs: [Int64], in room: Int64, _ parts: QuotedParts, maxBytes: Int = .max
  ) throws -> (quotes: [Int64: Quote], unread: Int64?) {
    let rows = try Row.fetchCursor(
      db.cachedStatement(
        sql: """
          SELECT messages.seq, users.name, messages.is_deleted, CASE WHEN ?3 THEN messages.body END AS body
          FROM json_each(?2) CROSS JOIN messages ON messages.room = ?1 AND messages.seq = json_each.value
          CROSS JOIN users ON users.id = messages.sender
          """),
      arguments: [room, "[\(seqs.map(String.init).joined(separator: ","))]", parts == .preview])
    var quotes: [Int64: Quote] = [:]
    var bytes = 0
    while let row = try rows.next() {
      let (seq, body): (Int64, [UInt8]) = (row["seq"], try row.bytes("body"))
      bytes += body.count
      guard quotes.isEmpty || bytes <= maxBytes else { return (quotes, seq) }
      let isDeleted: Bool = row["is_deleted"]
      quotes[seq] = Quote(
        seq: seq, from: UserID(unchecked: row["name"]), preview: isDeleted ? nil : JSON.preview(ofBody: body),
        isDeleted: isDeleted)
    }
    return (quotes, nil)
  }
}

extension MessageWriter {
  /// The message that a draft answers, in its state in this transaction. Runs no statement if the draft is no reply.
  /// - Parameter room: The row of the draft's room.
  func quote(of draft: MessageDraft, _ room: WriterCache.Room) throws -> Quote? {
    guard let seq = draft.replyTo, draft.quoting != .nothing, seq >= room.start(keeping: draft.retention.count) else {
      return nil
    }
    return try reader.messages.quotes(of: [seq], in: room.id, draft.quoting).quotes[seq]
  }
}
