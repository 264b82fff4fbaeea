// SPDX-License-Identifier: Apache-2.0
public import RelayJSON
public import RelayProtocol

/// A room of a client. It has no state of its own, so two values with the same id are interchangeable.
public struct Room: Sendable {
  public let id: RoomID
  let engine: Engine
  let listeners: Listeners

  /// Joins the room, and returns when the user is a member. The client joins it again after each reconnect, and
  /// delivers the missed messages, until ``leave(stay:)``.
  /// - Parameter history: Number of newest messages to deliver first, at most `limits.history`.
  public func join(history: Int = 0) async throws {
    _ = try await engine.reply { $0.joinRequested(id, history: history, $1) }
  }

  /// Sets the priority of the room until the app leaves it. After a reconnect the client joins the rooms with the highest
  /// priority first (0 by default), and among them the one that the app has joined, sent to or read last. At most 4 joins
  /// have no reply at once.
  public func setPriority(_ priority: Int) async { await engine.take { $0.prioritize(id, priority) } }

  /// Leaves the room. Messages that wait to be sent to it fail with `closed`.
  ///
  /// The end of the membership requires a connection. Without one this throws `closed`, and the room stays joined.
  /// - Parameter stay: True if the user remains a member and receives pushes. Only this client leaves the room then, and
  ///   no connection is required.
  public func leave(stay: Bool = false) async throws {
    _ = try await engine.reply {
      $0.leaveRequested(id, stays: stay, $1)
      if $0.tracks[id] == nil { listeners.forget(id) }
    }
  }

  /// All messages from now on, once and in the order of the room, also across reconnects. They include those of this
  /// user. Call this before ``join(history:)``, so that no message is missed.
  /// - Parameter limit: Maximum number of messages that the reader has not taken yet. The oldest are lost beyond it.
  public func messages(limit: Int = 1_024) -> Subscription<Message> { listeners.messages(in: id, limit: limit) }

  /// The people in the room with their presence, now and after each change. A slow reader receives only the newest
  /// state.
  public func people() -> Subscription<People> { listeners.crowd(in: id) }

  /// Sends a message, and returns when the relay has stored it. Without a connection the message waits. After a
  /// reconnect the client sends it again with the same key, so that the relay stores it once.
  /// - Parameters:
  ///   - body: Any JSON. Notifications show the text of `{"text": …}`.
  ///   - key: The app's own idempotency key, at most 128 bytes.
  ///   - mentions: The mentioned users. `all` mentions all members, and `online` those who are online. Both need the right
  ///     `mentionAll`.
  ///   - push: Options for the pushes of this message, or `false` for no pushes.
  ///   - report: True if the relay sends `delivery` events about this message.
  @discardableResult
  public func send(
    _ body: JSON, key: String? = nil, mentions: Mentions = [], replyTo: Int64? = nil, push: JSON? = nil,
    report: Bool = false
  ) async throws -> Sent {
    var fields: [String: JSON] = ["body": body]
    if !mentions.isEmpty { fields["mentions"] = .array(mentions.words.map(JSON.string)) }
    fields["replyTo"] = replyTo.map { .number(String($0)) }
    fields["push"] = push
    if report { fields["report"] = .bool(true) }
    let complete = fields
    return Sent(try await engine.reply { $0.sendRequested(id, complete, key: key, $1) })
  }

  /// Sends `{"text": …}`.
  @discardableResult
  public func send(text: String) async throws -> Sent { try await send(["text": .string(text)]) }

  /// Marks all messages up to this one as read. The client sends the mark immediately, and again after a reconnect if
  /// the relay has missed it.
  public func read(upTo seq: Int64) async { await engine.take { $0.markRead(id, seq) } }

  /// Replaces the body of a message that this user sent.
  public func edit(_ seq: Int64, body: JSON) async throws {
    try await request("edit", ["seq": seq.json, "body": body])
  }

  /// Deletes a message. The relay keeps its seq without the body.
  public func delete(_ seq: Int64) async throws { try await request("delete", ["seq": seq.json]) }

  /// Adds a reaction of this user to a message. Nothing changes if the user has this reaction already.
  /// - Parameter key: An emoji, or another text of at most 64 bytes.
  /// - Returns: All reactions to the message. Is empty without the right `history`, if the message is older than the
  ///   join.
  @discardableResult
  public func react(_ seq: Int64, key: String) async throws -> [Reaction] {
    Reaction.list(try await request("react", ["seq": seq.json, "key": .string(key)])["reactions"])
  }

  /// Removes a reaction of this user.
  /// - Returns: All reactions to the message, as ``react(_:key:)`` does.
  @discardableResult
  public func unreact(_ seq: Int64, key: String) async throws -> [Reaction] {
    Reaction.list(try await request("unreact", ["seq": seq.json, "key": .string(key)])["reactions"])
  }

  /// Pins a message. Requires the role of a moderator or an owner; in a direct room, both people pin messages.
  public func pin(_ seq: Int64) async throws { try await request("pin", ["seq": seq.json]) }

  /// Ends the pin of a message. The rights are those of ``pin(_:)``.
  public func unpin(_ seq: Int64) async throws { try await request("unpin", ["seq": seq.json]) }

  /// The pinned messages, the newest pin first: at most 50.
  public func pins() async throws -> [Pin] { try await request("pins", [:])["pins"]?.items?.compactMap(Pin.init) ?? [] }

  /// Sends a signal, such as a typing indicator, to the sessions in the room. The relay does not store it.
  public func signal(_ name: String, body: JSON? = nil) async throws {
    var fields: [String: JSON] = ["name": .string(name)]
    fields["body"] = body
    try await request("signal", fields)
  }

  /// Notify Anyway: notifies members whose Focus silenced a message that this user sent (``Sent/Delivery/silenced``).
  /// - Parameter users: The members to notify. All of them if `nil`.
  /// - Returns: The number of members that the relay notifies.
  public func notify(_ seq: Int64, users: [UserID]? = nil) async throws -> Int {
    var fields: [String: JSON] = ["seq": seq.json]
    fields["users"] = users.map { .array($0.map { .string($0.rawValue) }) }
    return Int(try await request("notify", fields)["push"]?.integer ?? 0)
  }

  /// Requests a page of messages, oldest first. `hasMore` is true if the room has older messages.
  /// - Parameters:
  ///   - seq: The message after the page. The page ends with the newest message if `nil`.
  ///   - limit: Maximum number of messages, at most `limits.history`.
  public func history(before seq: Int64? = nil, limit: Int = 50) async throws -> (messages: [Message], hasMore: Bool) {
    var fields: [String: JSON] = ["limit": .number(String(limit))]
    fields["before"] = seq?.json
    let reply = try await request("history", fields)
    return (reply["messages"]?.items?.compactMap { Message($0, in: id) } ?? [], reply["more"]?.flag ?? false)
  }

  @discardableResult
  func request(_ type: String, _ fields: [String: JSON]) async throws -> JSON {
    var fields = fields
    fields["room"] = .string(id.rawValue)
    let complete = fields
    return try await engine.reply { $0.requested(type, complete, $1) }
  }
}

extension Int64 {
  var json: JSON { .number(String(self)) }
}
