// SPDX-License-Identifier: Apache-2.0
import CRelay
public import RelayProtocol

// The facts about open sessions, for lists of sessions.

/// An open session.
public struct OpenSession: Equatable, Sendable {
  public let session: SessionHandle
  /// The device of the session, from its `hello`.
  public let device: DeviceID?
  /// The time of the accepted `hello`, in whole seconds.
  public let since: Timestamp
  public let activity: Activity
  /// The time at which the hub closes the session unless it gets a newer token, in whole seconds. Is `nil` if it has no
  /// token.
  public let expires: Timestamp?
  /// The number of rooms that the session has joined.
  public let rooms: Int
}

extension Hub {
  /// The facts about a session. Is `nil` if it is not open.
  public func facts(of session: SessionHandle) -> OpenSession? {
    var facts = relay_session_facts_t()
    guard relay_session_facts(hub, session.rawValue, &facts) else { return nil }
    return OpenSession(
      session: session, device: facts.device.map { DeviceID(unchecked: String(cString: $0)) },
      since: Timestamp(rawValue: facts.since), activity: Activity(facts.activity),
      expires: facts.expires == 0 ? nil : Timestamp(rawValue: facts.expires), rooms: Int(facts.rooms))
  }
}
