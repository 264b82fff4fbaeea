// SPDX-License-Identifier: Apache-2.0
import CRelay
public import RelayProtocol

/// Why the hub did not do what it was told.
public enum HubRefusal: Error, Sendable {
  /// The session, the room or the user is no longer there.
  case gone
  /// One past a limit.
  case tooMany
  /// Not joined, or no member.
  case notThere

  init?(_ status: relay_status_t) {
    switch status {
    case RELAY_GONE: self = .gone
    case RELAY_TOO_MANY: self = .tooMany
    case RELAY_NOT_THERE: self = .notThere
    default: return nil
    }
  }

  static func check(_ status: relay_status_t) throws(HubRefusal) {
    if let refusal = HubRefusal(status) { throw refusal }
  }
}

extension Hub {
  /// Ends the `hello` of a session: it is now one of `user`. ``HubRefusal/tooMany``: past `sessionsPerUser`.
  public func open(
    _ session: SessionHandle, of user: UserHandle, device: DeviceID?, acks: Bool, activity: Activity
  ) throws(HubRefusal) {
    let activity =
      switch activity {
      case .active: RELAY_ACTIVE
      case .idle: RELAY_IDLE
      case .background: RELAY_BACKGROUND
      }
    try HubRefusal.check(
      relay_session_open(hub, session.rawValue, user.rawValue, device?.rawValue, acks, activity))
  }

  /// Closes the session with 4002 at this time, to the second; nil: never.
  public func setExpiry(_ time: Timestamp?, of session: SessionHandle) {
    relay_session_set_expiry(hub, session.rawValue, time?.rawValue ?? 0)
  }

  /// ``HubEvent/sessionEnded(_:)`` comes when the session is gone; false: it is already.
  public func tellEnd(of session: SessionHandle) -> Bool { relay_session_tell_end(hub, session.rawValue) }

  /// Answers a request, with nothing where the client expects nothing; what waited behind it goes on.
  public func finish(_ session: SessionHandle, with json: [UInt8]) {
    json.withBytes { relay_session_finish(hub, session.rawValue, $0) }
  }

  /// Sends text that answers no request.
  public func push(_ json: [UInt8], to session: SessionHandle) {
    json.withBytes { relay_session_push(hub, session.rawValue, $0) }
  }

  /// Asks whether all that was pushed to the session until now arrives, and returns the number under which
  /// ``HubEvent/confirmed(_:_:)`` says so; none comes when the session ends before. nil: it is not open.
  public func confirm(_ session: SessionHandle) -> Int64? {
    let number = relay_session_confirm(hub, session.rawValue)
    return number == 0 ? nil : Int64(number)
  }

  /// The open sessions of a user.
  public func sessions(of user: UserHandle) -> [SessionHandle] {
    handles { relay_user_sessions(hub, user.rawValue, $0, $1) }
  }

  /// Sends `bye` and a close frame, and cuts the socket after 5 s at most.
  public func close(_ session: SessionHandle, _ code: CloseCode, _ reason: String) {
    relay_session_close(hub, session.rawValue, code.rawValue, reason, -1)
  }

  /// Ends all sessions of a user likewise.
  /// - Returns: How many were open.
  public func closeSessions(of user: UserHandle, _ code: CloseCode, _ reason: String) -> Int {
    relay_user_close_sessions(hub, user.rawValue, code.rawValue, reason)
  }

  public func isOpen(_ session: SessionHandle) -> Bool { relay_session_is_open(hub, session.rawValue) }

  /// What `hello` told.
  public func device(of session: SessionHandle) -> DeviceID? {
    relay_session_device(hub, session.rawValue).map { DeviceID(unchecked: String(cString: $0)) }
  }

  /// The Authorization header of the handshake, until ``open(_:of:device:acks:activity:)``.
  public func authorization(of session: SessionHandle) -> String? {
    String(relay_session_authorization(hub, session.rawValue))
  }
}
