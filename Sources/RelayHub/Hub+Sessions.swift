// SPDX-License-Identifier: Apache-2.0
import CRelay
public import RelayProtocol

// Sessions: `hello`, replies, events and closes.

/// The reason why the hub did not perform a call.
public enum HubRefusal: Error, Sendable {
  /// The session, the room or the user does not exist any more.
  case gone
  /// A limit would be exceeded.
  case tooMany
  /// The session has not joined the room, or the user is not a member.
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
  /// Completes the `hello` of a session, which now belongs to `user`. Above `sessionsPerUser` it replaces the session
  /// that has been silent for longest, if that session has left a ping unanswered for 5 s. Throws
  /// ``HubRefusal/tooMany`` if there is none.
  public func open(
    _ session: SessionHandle, of user: UserHandle, device: DeviceID?, acks: Bool, activity: Activity
  ) throws(HubRefusal) {
    try HubRefusal.check(
      relay_session_open(hub, session.rawValue, user.rawValue, device?.rawValue, acks, relay_activity_t(activity)))
  }

  /// Pings the sessions of a user who has `sessionsPerUser` sessions. Returns false if the user has fewer.
  public func probeSessions(of user: UserHandle) -> Bool { relay_user_probe(hub, user.rawValue) }

  /// True while ``open(_:of:device:acks:activity:)`` would refuse a session of the user, and the pong of another session
  /// may still be missing. Is false 5 s after ``probeSessions(of:)``.
  public func awaitsPongs(of user: UserHandle) -> Bool { relay_user_awaits_pongs(hub, user.rawValue) }

  /// The address of the client, an IPv6 address as its /64. Is `nil` if the session has ended.
  public func address(of session: SessionHandle) -> ClientAddress? {
    var bytes = SIMD16<UInt8>()
    let isKnown = withUnsafeMutableBytes(of: &bytes) {
      relay_session_address(hub, session.rawValue, $0.assumingMemoryBound(to: UInt8.self).baseAddress)
    }
    return isKnown ? ClientAddress(bytes) : nil
  }

  /// Sets the time at which the hub closes the session with 4002, in whole seconds. `nil` means never.
  public func setExpiry(_ time: Timestamp?, of session: SessionHandle) {
    relay_session_set_expiry(hub, session.rawValue, time?.rawValue ?? 0)
  }

  /// Requests ``HubEvent/sessionEnded(_:)`` for the end of the session. Returns false if the session has already ended.
  public func notifyEnd(of session: SessionHandle) -> Bool { relay_session_notify_end(hub, session.rawValue) }

  /// Completes a request, and lets the session's next request run.
  /// - Parameter json: The reply; empty if the client expects none.
  public func finish(_ session: SessionHandle, with json: [UInt8]) {
    json.withBytes { relay_session_finish(hub, session.rawValue, $0) }
  }

  /// A reply with messages of a room. On a slow connection the reply to a `ping` goes before it.
  public enum Page: Sendable {
    /// The reply to `history`.
    case history
    /// The reply to `join`, and the events with its first messages. They take the place of the reply to an earlier
    /// `join` of the room that waits.
    case join(RoomHandle, parts: [[UInt8]])
  }

  /// Completes a request that reads messages, and lets the session's next request run.
  /// - Parameter json: The reply; empty if the client expects none.
  public func finish(_ session: SessionHandle, with json: [UInt8], _ page: Page) {
    switch page {
    case .history: json.withBytes { relay_session_finish_history(hub, session.rawValue, $0) }
    case .join(let room, let parts):
      // The texts share one buffer, so that their addresses stay valid.
      let all = parts.flatMap(\.self) + json
      all.withBytes { all in
        var at = 0
        func next(_ size: Int) -> relay_bytes {
          defer { at += size }
          return relay_bytes(at: all.at.map { $0 + at }, count: size)
        }
        let parts = parts.map { next($0.count) }
        relay_session_finish_join(hub, session.rawValue, room.rawValue, next(json.count), parts, parts.count)
      }
    }
  }

  /// Sends a frame that is not a reply to a request.
  public func push(_ json: [UInt8], to session: SessionHandle) {
    json.withBytes { relay_session_push(hub, session.rawValue, $0) }
  }

  /// Sends an event to several sessions. They share one frame.
  public func push(_ json: [UInt8], to sessions: [SessionHandle]) {
    sessions.map(\.rawValue).withUnsafeBufferPointer { ids in
      json.withBytes { relay_sessions_push(hub, ids.baseAddress, ids.count, $0) }
    }
  }

  /// Requests ``HubEvent/confirmed(_:_:)`` for the time when everything sent to the session until now has arrived. The
  /// hub sends a ping for it. No event follows if the session ends first.
  /// - Returns: The number that the event will have, or a higher one. Is `nil` if the session is not open.
  public func confirm(_ session: SessionHandle) -> Int64? {
    let number = relay_session_confirm(hub, session.rawValue)
    return number == 0 ? nil : Int64(number)
  }

  /// The open sessions of a user.
  public func sessions(of user: UserHandle) -> [SessionHandle] {
    handles { relay_user_sessions(hub, user.rawValue, $0, $1) }
  }

  /// Sends `bye` and a close frame, and closes the socket after at most 5 s.
  public func close(_ session: SessionHandle, _ code: CloseCode, _ reason: String) {
    relay_session_close(hub, session.rawValue, code.rawValue, reason, -1)
  }

  /// Closes all sessions of a user in the same way.
  /// - Returns: The number of sessions that were open.
  public func closeSessions(of user: UserHandle, _ code: CloseCode, _ reason: String) -> Int {
    relay_user_close_sessions(hub, user.rawValue, code.rawValue, reason)
  }

  public func isOpen(_ session: SessionHandle) -> Bool { relay_session_is_open(hub, session.rawValue) }

  /// The device of the session, from its `hello`.
  public func device(of session: SessionHandle) -> DeviceID? {
    relay_session_device(hub, session.rawValue).map { DeviceID(unchecked: String(cString: $0)) }
  }

  /// The Authorization header of the handshake. Available until ``open(_:of:device:acks:activity:)``.
  public func authorization(of session: SessionHandle) -> String? {
    String(relay_session_authorization(hub, session.rawValue))
  }
}
