// SPDX-License-Identifier: Apache-2.0
public import RelayJSON
public import RelayProtocol

/// A room of a client's. It keeps nothing itself: two of the same name are the same.
public struct Room: Sendable {
  public let id: RoomID
  let engine: Engine
  let listeners: Listeners

  /// Becomes a member, and returns when the room is joined. The client joins it again after each reconnect, and shows
  /// what was missed, until ``leave(stay:)``.
  /// - Parameter history: How many of the newest messages to begin with, at most `limits.history`.
  public func join(history: Int = 0) async throws {
    _ = try await engine.reply { $0.joinAsked(id, history: history, $1) }
  }

  /// Ends the membership; what waits to be sent here fails with `closed`.
  /// - Parameter stay: Only this client stops hearing the room; the user stays a member and is pushed to.
  public func leave(stay: Bool = false) async throws {
    listeners.forget(id)
    _ = try await engine.reply { $0.leaveAsked(id, stays: stay, $1) }
  }

  /// Every message from now on, once, in the order of the room, also over reconnects; one's own among them. So ask for
  /// them before ``join(history:)``. At most `limit` wait to be taken.
  public func messages(limit: Int = 1_024) -> Told<Message> { listeners.messages(in: id, limit: limit) }

  /// Who is here and what shows of them, now and after each change; only the newest state waits to be taken.
  public func people() -> Told<People> { listeners.crowd(in: id) }

  /// Sends a message, and returns when the relay has stored it. Without a connection it waits; over a reconnect it is
  /// sent again under the same key, so that the room has it once.
  /// - Parameters:
  ///   - body: Any JSON; `{"text": …}` is what notifications show.
  ///   - key: The app's own idempotency key, at most 128 bytes.
  ///   - push: What is asked of the pushes, or `false`.
  ///   - report: Whether `delivery` events are wanted.
  @discardableResult
  public func send(
    _ body: JSON, key: String? = nil, mentions: [UserID] = [], replyTo: Int64? = nil, push: JSON? = nil,
    report: Bool = false
  ) async throws -> Sent {
    var fields: [String: JSON] = ["body": body]
    if !mentions.isEmpty { fields["mentions"] = .array(mentions.map { .string($0.rawValue) }) }
    fields["replyTo"] = replyTo.map { .number(String($0)) }
    fields["push"] = push
    if report { fields["report"] = .bool(true) }
    let complete = fields
    return Sent(try await engine.reply { $0.sendAsked(id, complete, key: key, $1) })
  }

  /// Sends `{"text": …}`.
  @discardableResult
  public func send(text: String) async throws -> Sent { try await send(["text": .string(text)]) }

  /// The person has seen all up to a message; told at once, and again after a reconnect where the relay missed it.
  public func read(upTo seq: Int64) async { await engine.take { $0.readTold(id, seq) } }

  /// Replaces what one's own message says.
  public func edit(_ seq: Int64, body: JSON) async throws {
    try await request("edit", ["seq": seq.json, "body": body])
  }

  public func delete(_ seq: Int64) async throws { try await request("delete", ["seq": seq.json]) }

  /// Tells who is there something that is stored nowhere, such as that one is typing.
  public func signal(_ name: String, body: JSON? = nil) async throws {
    var fields: [String: JSON] = ["name": .string(name)]
    fields["body"] = body
    try await request("signal", fields)
  }

  /// Notify Anyway: of a message of one's own, who was `quiet`. Returns how many are notified.
  public func notify(_ seq: Int64, users: [UserID]? = nil) async throws -> Int {
    var fields: [String: JSON] = ["seq": seq.json]
    fields["users"] = users.map { .array($0.map { .string($0.rawValue) }) }
    return Int(try await request("notify", fields)["push"]?.integer ?? 0)
  }

  /// A page of older messages, oldest first, and whether there are more.
  /// - Parameters:
  ///   - seq: The one above the page; nil: the newest are asked for.
  ///   - limit: At most `limits.history`.
  public func history(before seq: Int64? = nil, limit: Int = 50) async throws -> (messages: [Message], hasMore: Bool) {
    var fields: [String: JSON] = ["limit": .number(String(limit))]
    fields["before"] = seq?.json
    let reply = try await request("history", fields)
    return (reply["messages"]?.items?.compactMap { Message($0, in: id) } ?? [], reply["more"]?.flag ?? false)
  }

  @discardableResult
  private func request(_ type: String, _ fields: [String: JSON]) async throws -> JSON {
    var fields = fields
    fields["room"] = .string(id.rawValue)
    let complete = fields
    return try await engine.reply { $0.requested(type, complete, $1) }
  }
}

extension Int64 {
  fileprivate var json: JSON { .number(String(self)) }
}
