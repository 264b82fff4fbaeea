// SPDX-License-Identifier: Apache-2.0
// The observable model of a room. It performs the decisions of `Timeline` and `NotifyAnywayOffer` with a client.
public import Observation
import RelayJSON
public import StillwireClient

#if canImport(UserNotifications) && !os(tvOS)
  import StillwireApple
  import UserNotifications
#endif

/// A room as a screen observes it: the messages, the people, and the offer of Notify Anyway.
///
/// Call ``run()`` in the view's `task`. The client must run too (`Stillwire.run()`).
@available(iOS 17, macOS 14, tvOS 17, visionOS 1, watchOS 10, *)
@MainActor @Observable public final class RoomModel {
  /// The messages.
  public private(set) var timeline: Timeline
  /// The people and their presence.
  public private(set) var people = People()
  /// The state of the connection.
  public private(set) var connection: ConnectionState
  /// The offer to notify silenced members of the newest message that this user sent from here.
  public private(set) var offer: NotifyAnywayOffer?
  /// The error of the last action. The next action clears it.
  public private(set) var error: StillwireError?

  public let room: Room
  private let relay: Stillwire
  private let me: UserID?
  private let page: Int
  /// True if the timeline lacks messages that the client does not deliver.
  private var needsPage = true

  /// - Parameters:
  ///   - room: The room, which ``run()`` joins.
  ///   - me: The app's own user. ``silenced`` does not name this user, and ``markRead()`` removes only the notifications of
  ///     this user.
  ///   - page: Number of messages of one request to the history, at most the relay's `limits.history`.
  ///   - limit: Maximum number of messages of the timeline.
  public init(_ relay: Stillwire, room: RoomID, me: UserID? = nil, page: Int = 50, limit: Int = 500) {
    self.relay = relay
    self.room = relay.room(room)
    self.me = me
    self.page = page
    timeline = Timeline(limit: limit)
    connection = relay.state
  }

  /// The members whose Focus silences notifications. Is `nil` if there are none.
  public var silenced: SilencedNotice? { SilencedNotice(people, without: me) }

  /// Joins the room and follows it, until the task is cancelled. The room stays joined after that.
  public func run() async {
    let (events, people) = (relay.events(), room.people())
    connection = relay.state
    // The people and the messages of a room that is already joined have no event.
    let reader = Task { for await now in people { self.people = now } }
    let joiner = Task {
      if await attempt({ try await self.room.join() }) { await loadMissing() }
    }
    defer {
      reader.cancel()
      joiner.cancel()
    }
    for await event in events { await take(event) }
  }

  /// Sends a text, and offers Notify Anyway if a Focus silences it. Returns false if it fails: ``error`` has the cause.
  /// - Parameter seq: The message that the text answers. The timeline shows its beginning as the quote of the reply.
  @discardableResult
  public func send(_ text: String, replyTo seq: Int64? = nil) async -> Bool {
    await attempt {
      let sent = try await self.room.send(["text": .string(text)], replyTo: seq)
      self.offer = NotifyAnywayOffer(sent)
    }
  }

  /// Replaces a message of this user by `{"text": …}`, and shows it. Returns false if it fails: ``error`` has the
  /// cause.
  @discardableResult
  public func edit(_ seq: Int64, text: String) async -> Bool {
    let body: JSON = ["text": .string(text)]
    return await attempt {
      try await self.room.edit(seq, body: body)
      // The relay sends no event to the session that has changed the message.
      self.timeline.edit(seq, body: body)
    }
  }

  /// Deletes a message, and shows it as deleted. Returns false if it fails: ``error`` has the cause.
  @discardableResult
  public func delete(_ seq: Int64) async -> Bool {
    await attempt {
      try await self.room.delete(seq)
      let message = self.timeline.messages.first { $0.seq == seq }
      // Somebody else may have deleted it first.
      guard message?.isDeleted != true else { return }
      self.timeline.delete(seq, by: message?.isOwn == false ? self.me : nil)
    }
  }

  /// Adds a reaction of this user, and shows it. Returns false if it fails: ``error`` has the cause.
  /// - Parameter key: An emoji, or another text of at most 64 bytes.
  @discardableResult
  public func react(_ seq: Int64, key: String) async -> Bool {
    await attempt { self.timeline.setReactions(of: seq, to: try await self.room.react(seq, key: key)) }
  }

  /// Removes a reaction of this user. Returns false if it fails: ``error`` has the cause.
  @discardableResult
  public func unreact(_ seq: Int64, key: String) async -> Bool {
    await attempt { self.timeline.setReactions(of: seq, to: try await self.room.unreact(seq, key: key)) }
  }

  /// Notifies the silenced members of ``offer``.
  public func notifyAnyway() async {
    guard var current = offer, current.begin() else { return }
    offer = current
    let result: Result<Int, StillwireError>
    do {
      result = .success(try await room.notify(current.seq, users: current.users))
    } catch {
      result = .failure(StillwireError(any: error))
    }
    // The person may have sent another message meanwhile.
    guard offer?.seq == current.seq else { return }
    current.end(result)
    offer = current
  }

  /// Loads the page before the first message, if the room has one.
  public func loadEarlier() async {
    guard timeline.hasEarlier, let first = timeline.messages.first else { return }
    await load(before: first.seq)
  }

  /// Marks all messages as read, and removes their notifications from this device. Call it only while the newest message
  /// is on the screen.
  public func markRead() async {
    guard let newest = timeline.messages.last else { return }
    await room.read(upTo: newest.seq)
    #if canImport(UserNotifications) && !os(tvOS)
      await UNUserNotificationCenter.current().removeDelivered(in: room.id, upTo: newest.seq, of: me)
    #endif
  }

  private func take(_ event: Event) async {
    if case .stateChanged(let state) = event { connection = state }
    if case .missed = event { needsPage = true }
    guard event == .missed || event.room == room.id else { return }
    switch event {
    case .message(let message): timeline.add(message)
    case .frame(let frame): timeline.apply(frame)
    case .reset(_, _, let reason):
      if reason == .epoch { (timeline, offer) = (Timeline(limit: timeline.limit), nil) }
      needsPage = true
      await loadMissing()
    case .joined, .missed: await loadMissing()
    default: break
    }
  }

  /// Loads the newest page, if the client does not deliver its messages. If this fails, the next join repeats it.
  private func loadMissing() async {
    guard needsPage else { return }
    needsPage = false
    if await !load(before: nil) { needsPage = true }
  }

  @discardableResult
  private func load(before seq: Int64?) async -> Bool {
    await attempt {
      let (messages, hasMore) = try await self.room.history(before: seq, limit: self.page)
      self.timeline.add(page: messages, hasMore: hasMore)
    }
  }

  @discardableResult
  private func attempt(_ action: @MainActor () async throws -> Void) async -> Bool {
    error = nil
    do {
      try await action()
      return true
    } catch {
      self.error = StillwireError(any: error)
      return false
    }
  }
}

extension StillwireError {
  /// An error of the client. A cancelled task counts as closed.
  init(any error: any Error) { self = error as? StillwireError ?? StillwireError(.closed, "\(error)") }
}
