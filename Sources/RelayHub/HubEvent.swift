// SPDX-License-Identifier: Apache-2.0
import CRelay
public import RelayJSON
public import RelayProtocol

/// What happened in the hub, in order.
public enum HubEvent: Sendable {
  /// To be answered with ``Hub/finish(_:with:)``.
  case request(HubRequest)
  /// A `send` that the hub cannot answer: its room is stored, or it has a key or further fields; to be answered
  /// likewise.
  case send(HubSend)
  /// To be answered with ``Hub/respond(to:with:)`` or ``Hub/stream(to:headers:)``.
  case http(HTTPRequest)
  /// The client of a stream is gone.
  case streamClosed(ExchangeHandle)
  /// Offline, last seen at this time.
  case userAway(UserID, lastSeen: Timestamp)
  /// Forgotten: the handle will never be valid again.
  case userGone(UserHandle)
  /// The time of ``Hub/setAlarm(_:of:)`` has come.
  case userDue(UserHandle)
  /// The time of ``Hub/setAlarm(_:)`` has come.
  case alarm
  /// The wall clock was set forward by so much; back, where it is negative. Waits go on as they were.
  case clockSet(by: Duration)
  /// Marks that changed, to be stored.
  case marked(RoomHandle, UserHandle, read: Int64, received: Int64)
  /// Every message of the room up to this one is decided for everybody.
  case cursor(RoomHandle, Int64)
  /// Messages are due to be decided for this member: ``Hub/undecided(_:_:)``.
  case due(RoomHandle, UserHandle)
  /// A session of ``Hub/tellEnd(of:)`` is gone.
  case sessionEnded(SessionHandle)
  /// What was asked for under this number, or a lower one, with ``Hub/confirm(_:)`` has arrived.
  case confirmed(SessionHandle, Int64)
  /// Nobody has been in the room for a while.
  case roomIdle(RoomHandle)
  /// The room is no longer in memory.
  case roomGone(RoomHandle)
  /// After ``Hub/drain(_:_:)``: the last session, or the last HTTP request, has ended.
  case drained
}

/// A request that the hub hands over.
public struct HubRequest: Sendable {
  public let session: SessionHandle
  /// nil: `hello`.
  public let user: UserHandle?
  public let type: String
  /// As it was spelled, to be echoed; nil: no reply is expected.
  public let id: [UInt8]?
  public let fields: Fields
}

/// A message that is stored, or has more to it than its body. Its right to be sent, its rate, its key and its body have
/// been checked.
public struct HubSend: Sendable {
  public let session: SessionHandle
  public let user: UserHandle
  public let room: RoomHandle
  public let id: [UInt8]?
  public let key: String?
  public let body: [UInt8]
  /// All fields, when there are some that the hub does not look at: `mentions`, `replyTo`, `push`, `report`.
  public let fields: Fields?
}

extension HubEvent {
  /// nil for a request whose client has left.
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
          fields: json.hasAny(of: ["mentions", "replyTo", "push", "report"]) ? Fields(JSON.members(of: json)) : nil))
    case RELAY_EVENT_HTTP:
      guard let http = event.http?.pointee else { return nil }
      self = .http(HTTPRequest(exchange: ExchangeHandle(rawValue: event.exchange), http))
    case RELAY_EVENT_HTTP_CLOSED: self = .streamClosed(ExchangeHandle(rawValue: event.exchange))
    case RELAY_EVENT_USER_AWAY:
      let user = UserID(unchecked: String(cString: event.name))
      self = .userAway(user, lastSeen: Timestamp(rawValue: event.time))
    case RELAY_EVENT_USER_GONE: self = .userGone(UserHandle(rawValue: event.user))
    case RELAY_EVENT_USER_DUE: self = .userDue(UserHandle(rawValue: event.user))
    case RELAY_EVENT_ALARM: self = .alarm
    case RELAY_EVENT_CLOCK_SET: self = .clockSet(by: .milliseconds(event.time))
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
    case RELAY_EVENT_ROOM_GONE: self = .roomGone(RoomHandle(rawValue: event.room))
    default: preconditionFailure("an event of a kind that this side does not know: \(event.kind)")
    }
  }
}
