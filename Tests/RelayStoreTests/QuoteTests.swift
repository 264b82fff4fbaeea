// SPDX-License-Identifier: Apache-2.0
import GRDB
import RelayProtocol
import Synchronization
import Testing

@testable import RelayStore

/// The messages that replies answer: with a new reply, and in pages of the history.
@Suite struct QuoteTests {
  let test: TestStore
  init() async throws { test = try await .withMessages(5) }

  private static func reply(
    to seq: Int64, _ quoting: QuotedParts = .preview, kept: Int = .max, key: String? = nil
  ) -> MessageDraft {
    var reply = draft("reply", from: bob, key: key, cursorFollows: true)
    reply.replyTo = seq
    reply.quoting = quoting
    reply.retention = Retention(count: kept)
    return reply
  }

  /// Sends a reply alone, and one as part of a group. Returns the quote, which both results have.
  private func sent(_ reply: MessageDraft) async throws -> Quote? {
    let single = try await test.write { try $0.messages.append(reply).quote }
    let grouped = try await withCheckedThrowingContinuation { (stored: CheckedContinuation<Appended, any Error>) in
      test.store.append(reply) { stored.resume(with: $0) }
    }
    #expect(single == grouped.quote)
    return single
  }

  /// Returns the quotes of the whole history by the seqs of the replies, which both directions of reading return.
  private func read(_ quoting: QuotedParts = .preview, kept: Int = .max) async throws -> [Int64: Quote] {
    let pages = try await test.read { reader in
      [
        try reader.messages.page(room, after: 0, limit: 99, kept: kept, quoting: quoting)?.messages ?? [],
        try reader.messages.page(room, before: nil, limit: 99, kept: kept, quoting: quoting)?.messages ?? [],
      ]
    }
    #expect(pages[0] == pages[1] && pages[0].map(\.seq) == pages[0].map(\.seq).sorted())
    return Dictionary(uniqueKeysWithValues: pages[0].compactMap { message in message.quote.map { (message.seq, $0) } })
  }

  private static let second = Quote(seq: 2, from: alice.id, preview: "2")

  @Test func `a reply has the sender and the text of the answered message`() async throws {
    #expect(try await sent(Self.reply(to: 2)) == Self.second)
    #expect(try await read() == [6: Self.second, 7: Self.second])
  }

  @Test func `a reader gets only the parts that it requests`() async throws {
    let sender = Quote(seq: 2, from: alice.id)
    #expect(try await sent(Self.reply(to: 2, .sender)) == sender)
    #expect(try await sent(Self.reply(to: 2, .nothing)) == nil)
    #expect(try await read(.sender) == [6: sender, 7: sender, 8: sender, 9: sender])
    #expect(try await read(.nothing) == [:])
  }

  @Test func `a reply to a reply quotes only the message that it answers`() async throws {
    _ = try await sent(Self.reply(to: 2))
    let reply = Quote(seq: 6, from: bob.id, preview: "reply")
    #expect(try await sent(Self.reply(to: 6)) == reply)
    #expect(try await read() == [6: Self.second, 7: Self.second, 8: reply, 9: reply])
  }

  @Test func `a quote follows the edits and the deletion of its message`() async throws {
    _ = try await sent(Self.reply(to: 2))
    try await test.write { _ = try $0.messages.edit(room, 2, body: Array(#"{"text":"two"}"#.utf8)) }
    let edited = Quote(seq: 2, from: alice.id, preview: "two")
    #expect(try await sent(Self.reply(to: 2)) == edited)
    #expect(try await read() == [6: edited, 7: edited, 8: edited, 9: edited])

    try await test.write { _ = try $0.messages.delete(room, 2) }
    let deleted = Quote(seq: 2, from: alice.id, isDeleted: true)
    #expect(try await sent(Self.reply(to: 2)) == deleted)
    #expect(Set(try await read().values) == [deleted])

    // A deleted reply answers nothing any more.
    try await test.write { _ = try $0.messages.delete(room, 6) }
    #expect(try await read()[6] == nil)
  }

  @Test(arguments: [#"{"cipher":"a4f"}"#, "7", "null", #"{"text":{}}"#])
  func `a body without a text has no preview`(_ body: String) async throws {
    try await test.write { _ = try $0.messages.edit(room, 2, body: Array(body.utf8)) }
    let quote = Quote(seq: 2, from: alice.id)
    #expect(try await sent(Self.reply(to: 2)) == quote)
    #expect(try await read() == [6: quote, 7: quote])
  }

  @Test func `a message outside the history is not quoted`() async throws {
    // The history has the newest 3 messages, with the reply. The store keeps all.
    for (seq, isQuoted) in [(3, false), (4, false), (6, true), (12, false)] as [(Int64, Bool)] {
      let quote = try await test.write { try $0.messages.append(Self.reply(to: seq, kept: 3)).quote }
      #expect((quote != nil) == isQuoted, "\(seq)")
    }
    #expect(try await read().keys.sorted() == [6, 7, 8])
    #expect(try await read(kept: 4).keys.sorted() == [8])
    #expect(try await read(kept: 3).isEmpty)

    try await test.write { transaction in
      _ = try transaction.messages.append(draft(cursorFollows: true))
      try transaction.rooms.advanceCursor(room, to: 10)
      _ = try transaction.messages.trim(room, to: Retention(count: 3), maxDeleted: 99)
    }
    #expect(try await read().isEmpty)
    #expect(try await sent(Self.reply(to: 6)) == nil)
  }

  @Test func `a quote has the pseudonym of an erased user, and no text of a deleted message`() async throws {
    _ = try await sent(Self.reply(to: 2))
    let pseudonym = UserID(unchecked: "erased-1")
    try await test.write { _ = try $0.erasures.begin("e", of: alice.id, as: pseudonym, .delete) }
    #expect(Set(try await read().values) == [Quote(seq: 2, from: pseudonym, preview: "2")])
    while try await !test.write({ try $0.erasures.perform("e").isLast }) {}
    #expect(Set(try await read().values) == [Quote(seq: 2, from: pseudonym, isDeleted: true)])
  }

  @Test func `a message of another room is not quoted`() async throws {
    try await test.write { try $0.prepareRoom(RoomID(unchecked: "other")) }
    var reply = Self.reply(to: 2)
    reply.room = RoomID(unchecked: "other")
    #expect(try await sent(reply) == nil)
  }

  @Test func `a duplicate has the quote in its current state`() async throws {
    let reply = Self.reply(to: 2, key: "key")
    #expect(try await sent(reply) == Self.second)
    try await test.write { _ = try $0.messages.delete(room, 2) }
    #expect(try await sent(reply) == Quote(seq: 2, from: alice.id, isDeleted: true))
    #expect(try await read().keys.sorted() == [6])
  }

  @Test func `the transaction of a reply sees the earlier changes of its group`() async throws {
    let quotes = Mutex<[Quote?]>([])
    let delete: @Sendable (Transaction) throws -> Void = { _ = try $0.messages.delete(room, 6) }
    await withCheckedContinuation { continuation in
      test.gather {
        test.store.append(draft("new", cursorFollows: true)) { _ in }
        test.store.append(Self.reply(to: 6)) { result in quotes.withLock { $0.append(try? result.get().quote) } }
        test.store.submit(delete, completion: { _ in })
        test.store.append(Self.reply(to: 6)) { result in
          quotes.withLock { $0.append(try? result.get().quote) }
          continuation.resume()
        }
      }
    }
    #expect(
      quotes.withLock { $0 } == [
        Quote(seq: 6, from: alice.id, preview: "new"), Quote(seq: 6, from: alice.id, isDeleted: true),
      ])
  }

  @Test func `the bodies of quoted messages count in the size of a page`() async throws {
    // The bodies are "1" to "5" and five times "reply", with quotation marks: 3 and 7 bytes.
    for seq in 1...5 as ClosedRange<Int64> { try await test.write { _ = try $0.messages.append(Self.reply(to: seq)) } }
    func seqs(_ bytes: Int) async throws -> [Int64] {
      let page = try #require(
        try await test.read { try $0.messages.page(room, after: 5, limit: 9, pageBytes: bytes) })
      #expect(page.more == (page.messages.count < 5))
      #expect(page.messages.allSatisfy { $0.quote?.preview == "\($0.seq - 5)" })
      return page.messages.map(\.seq)
    }
    #expect(try await seqs(35) == [6, 7, 8, 9, 10])
    #expect(try await seqs(1) == [6])

    // Long originals of short replies.
    try await test.write { transaction in
      for seq in 1...5 {
        let text = "\"\(seq)" + String(repeating: " ", count: 97) + "\""
        _ = try transaction.messages.edit(room, Int64(seq), body: Array(text.utf8))
      }
    }
    for (bytes, count) in [(500, 5), (499, 4), (300, 3), (35, 1)] {
      let newest = try #require(
        try await test.read { try $0.messages.page(room, after: 5, limit: 9, pageBytes: bytes) })
      #expect(newest.messages.map(\.seq) == (0..<count).map { Int64(6 + $0) }, "\(bytes)")
      #expect(newest.more == (count < 5))
      let oldest = try #require(
        try await test.read { try $0.messages.page(room, before: nil, limit: 5, pageBytes: bytes) })
      #expect(oldest.messages.map(\.seq) == (0..<count).map { Int64(10 - $0) }.reversed(), "\(bytes)")
      let recovered = try await test.read { try $0.messages.page(room, after: 5, limit: 9, maxBytes: bytes) }
      #expect(recovered?.more == (count < 5))
    }
  }

  @Test func `only pages with replies read quoted messages`() async throws {
    func statements() async throws -> Int {
      try await test.write { transaction in
        let count = Mutex(0)
        transaction.db.trace { event in
          if case .statement = event { count.withLock { $0 += 1 } }
        }
        _ = try transaction.reader.messages.page(room, after: 0, limit: 9)
        transaction.db.trace(nil)
        return count.withLock { $0 }
      }
    }
    let without = try await statements()
    for seq in [1, 1, 2] as [Int64] { try await test.write { _ = try $0.messages.append(Self.reply(to: seq)) } }
    #expect(try await statements() == without + 1)
  }
}
