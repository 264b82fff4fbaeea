// SPDX-License-Identifier: Apache-2.0
import CRelay
public import RelayJSON
public import RelayProtocol

// The events of the hub in C as Swift values.

/// An event of the hub. Events are delivered in the order in which they happened.
public enum HubEvent: Sendable {
  /// A frame. The receiver answers it with ``Hub/finish(_:with:)``.
  case request(HubRequest)
  /// A `send` that the hub cannot answer, because its room is stored, or it has a key or one of
  /// ``HubSend/policyFields``. The receiver answers it with ``Hub/finish(_:with:)``.
  case send(HubSend)
  /// A `read` with an id in a stored room. The mark is raised. The receiver stores it, and answers with
  /// ``Hub/finish(_:with:)``.
  case read(HubRead)
  /// The receiver answers it with ``Hub/respond(to:with:)`` or ``Hub/stream(to:headers:)``.
  case http(HTTPRequest)
  /// The client of a stream has left.
  case streamClosed(ExchangeHandle)
  /// A user has changed. The entry has all parts. Is reported after ``Hub/followPresence(_:)``.
  case presence(UserID, entry: [UInt8])
  /// The user's online state, to be stored.
  /// - Parameter activity: Is `nil` if the user is offline.
  case userSeen(UserID, lastSeen: Timestamp, activity: Activity?)
  /// The user is no longer in memory. The handle will not become valid again.
  case userGone(UserHandle)
  /// The alarm of ``Hub/setAlarm(_:of:)``.
  case userDue(UserHandle)
  /// The time of ``Hub/awaitReturns(for:)`` is over.
  case returnsOver
  /// The alarm of ``Hub/setAlarm(_:)``.
  case alarm
  /// The wall clock has jumped. Running waits do not change.
  case clockJumped(ClockJump)
  /// A member's marks changed and must be stored.
  case marked(RoomHandle, UserHandle, read: Int64, received: Int64)
  /// The pushes of all messages of the room up to this seq are decided, for all members.
  case cursor(RoomHandle, Int64)
  /// Messages are due to be decided for this member: see ``Hub/undecided(_:_:limit:)``.
  case due(RoomHandle, UserHandle)
  /// A session for which ``Hub/notifyEnd(of:)`` was called has ended.
  case sessionEnded(SessionHandle)
  /// Everything that was sent before a ``Hub/confirm(_:)`` with this number or a lower one has arrived.
  case confirmed(SessionHandle, Int64)
  /// The room has had no sessions and no waits for a while.
  case roomIdle(RoomHandle)
  /// The room is no longer in memory.
  case roomGone(RoomHandle)
  /// After ``Hub/drain(_:_:)``: the last session, or the last HTTP request, has ended.
  case drained
  /// All events of ``Hub/flush()`` were delivered.
  case flushed
}

/// A jump of the wall clock against the clock of the hub's timers.
public struct ClockJump: Equatable, Sendable {
  /// The length of the jump. Is negative if the clock has gone back.
  public let length: Duration
  /// The part of the jump for which the machine was suspended. The clock of the timers stands still meanwhile.
  public let suspended: Duration

  public init(by length: Duration, suspended: Duration = .zero) {
    self.length = length
    self.suspended = suspended
  }

  /// The part of the jump by which somebody has set the clock.
  public var step: Duration { length - suspended }
}

/// A frame that the hub delivers as a request.
public struct HubRequest: Sendable {
  public let session: SessionHandle
  /// The session's user. Is `nil` for `hello`.
  public let user: UserHandle?
  public let type: String
  /// The `id` as the client spelled it, for the reply. Is `nil` if the client expects no reply.
  public let id: [UInt8]?
  public let fields: Fields
}

/// A `send` for a stored room, or with a key or further fields. The hub has checked the right to send, the rate, the
/// key and the body.
public struct HubSend: Sendable {
  public let session: SessionHandle
  public let user: UserHandle
  public let room: RoomHandle
  public let id: [UInt8]?
  public let key: String?
  public let body: [UInt8]
  /// All fields, if the frame has one of ``policyFields``, which the hub does not check.
  public let fields: Fields?

  /// The names of the fields that the receiver parses. The hub only checks whether a frame has one.
  public static let policyFields: [String] = {
    var names: [String] = []
    while let name = relay_send_policy_field(names.count) { names.append(String(cString: name)) }
    return names
  }()
}

/// A `read` that gets a reply.
public struct HubRead: Sendable {
  public let session: SessionHandle
  public let user: UserHandle
  public let room: RoomHandle
  public let id: [UInt8]?
}

extension HubEvent {
  /// Returns `nil` for a request whose client has left.
  init?(_ event: relay_event) {
    switch event.kind {
    case RELAY_EVENT_REQUEST:
      guard let json = event.json else { return nil }
      let members = JSON.members(of: json.pointee)
      guard case .string(let type) = members["type"] else { return nil }
      self = .request(
        HubRequest(
          session: SessionHandle(rawValue: event.session), user: UserHandle(id: event.user), type: type,
          id: json.pointee.source(of: "id"), fields: Fields(members)))
    case RELAY_EVENT_SEND:
      guard let json = event.json?.pointee, let body = json.source(of: "body") else { return nil }
      self = .send(
        HubSend(
          session: SessionHandle(rawValue: event.session), user: UserHandle(rawValue: event.user),
          room: RoomHandle(rawValue: event.room), id: json.source(of: "id"), key: json.string("key"), body: body,
          fields: json.needsPolicy ? Fields(JSON.members(of: json)) : nil))
    case RELAY_EVENT_READ:
      self = .read(
        HubRead(
          session: SessionHandle(rawValue: event.session), user: UserHandle(rawValue: event.user),
          room: RoomHandle(rawValue: event.room), id: event.json?.pointee.source(of: "id")))
    case RELAY_EVENT_HTTP:
      guard let http = event.http?.pointee else { return nil }
      self = .http(HTTPRequest(exchange: ExchangeHandle(rawValue: event.exchange), http))
    case RELAY_EVENT_HTTP_CLOSED: self = .streamClosed(ExchangeHandle(rawValue: event.exchange))
    case RELAY_EVENT_PRESENCE:
      self = .presence(UserID(unchecked: String(cString: event.name)), entry: [UInt8](event.entry))
    case RELAY_EVENT_USER_SEEN:
      let user = UserID(unchecked: String(cString: event.name))
      let activity = event.activity < 0 ? nil : Activity(relay_activity_t(UInt32(event.activity)))
      self = .userSeen(user, lastSeen: Timestamp(rawValue: event.time), activity: activity)
    case RELAY_EVENT_USER_GONE: self = .userGone(UserHandle(rawValue: event.user))
    case RELAY_EVENT_USER_DUE: self = .userDue(UserHandle(rawValue: event.user))
    case RELAY_EVENT_RETURNS_OVER: self = .returnsOver
    case RELAY_EVENT_ALARM: self = .alarm
    case RELAY_EVENT_CLOCK_SET:
      self = .clockJumped(ClockJump(by: .milliseconds(event.time), suspended: .milliseconds(event.suspended)))
    case RELAY_EVENT_MARK:
      self = .marked(
        RoomHandle(rawValue: event.room), UserHandle(rawValue: event.user), read: event.read,
        received: event.received)
    case RELAY_EVENT_CURSOR: self = .cursor(RoomHandle(rawValue: event.room), event.seq)
    case RELAY_EVENT_DUE: self = .due(RoomHandle(rawValue: event.room), UserHandle(rawValue: event.user))
    case RELAY_EVENT_SESSION_ENDED: self = .sessionEnded(SessionHandle(rawValue: event.session))
    case RELAY_EVENT_CONFIRMED: self = .confirmed(SessionHandle(rawValue: event.session), event.seq)
    case RELAY_EVENT_ROOM_IDLE: self = .roomIdle(RoomHandle(rawValue: event.room))
    case RELAY_EVENT_DRAINED: self = .drained
    case RELAY_EVENT_FLUSHED: self = .flushed
    case RELAY_EVENT_ROOM_GONE: self = .roomGone(RoomHandle(rawValue: event.room))
    default: preconditionFailure("an event of a kind that this side does not know: \(event.kind)")
    }
  }
}
