// SPDX-License-Identifier: Apache-2.0
import CRelay

// Watches: a session receives the presence of users with whom its user shares no room.

/// A watch: a session receives the presence events of a user, even if they share no room.
public struct Watching: Hashable, Sendable {
  public let session: SessionHandle
  /// The user of the session.
  public let viewer: UserHandle
  /// The watched user.
  public let user: UserHandle
}

extension Hub {
  /// Throws ``HubRefusal/tooMany`` if the session would then exceed the limit `watched`.
  public func checkMayWatch(_ session: SessionHandle, _ users: [UserHandle]) throws(HubRefusal) {
    try HubRefusal.check(
      users.map(\.rawValue).withUnsafeBufferPointer {
        relay_session_may_watch(hub, session.rawValue, $0.baseAddress, $0.count)
      })
  }

  /// Begins a watch: the session receives the user's presence events from now on. The caller sends the current state in
  /// its reply, and the hub does not send that state again.
  /// - Parameters:
  ///   - isRelated: True if the two users share a stored room, so that the session may see what is shared with rooms.
  ///   - isEvaluated: True if `isRelated` covers all rooms. The hub then ignores shared rooms in memory, because the
  ///     session may not see the members of each.
  public func watch(
    _ session: SessionHandle, _ user: UserHandle, isRelated: Bool, isEvaluated: Bool
  ) throws(HubRefusal) {
    try HubRefusal.check(relay_session_watch(hub, session.rawValue, user.rawValue, isRelated, isEvaluated))
  }

  /// Records that a reply has just sent the current presence of users to the session. If a change in that reply is
  /// undone before the hub announces it to others, the hub still sends the session an event.
  public func notePresence(_ session: SessionHandle) { relay_session_note_presence(hub, session.rawValue) }

  /// Ends a watch. Does nothing if the session does not watch the user.
  public func unwatch(_ session: SessionHandle, _ user: UserHandle) {
    relay_session_unwatch(hub, session.rawValue, user.rawValue)
  }

  /// Changes the facts of ``watch(_:_:isRelated:isEvaluated:)``. Sends an event if the session's view changes.
  public func relate(_ watching: Watching, isRelated: Bool, isEvaluated: Bool) {
    _ = relay_session_watch_relate(hub, watching.session.rawValue, watching.user.rawValue, isRelated, isEvaluated)
  }

  /// The watches of the user by others, and the watches of the user's own sessions.
  public func watches(of user: UserHandle) -> [Watching] {
    Self.watches { relay_user_watches(hub, user.rawValue, $0, $1) }
  }

  /// The watches of all sessions.
  public var watches: [Watching] {
    Self.watches { relay_watches(hub, $0, $1) }
  }

  /// - Parameter list: Writes at most the given number of watches, and returns the number of all.
  private static func watches(_ list: (UnsafeMutablePointer<relay_watching>?, Int) -> Int) -> [Watching] {
    let count = list(nil, 0)
    guard count > 0 else { return [] }
    let found = [relay_watching](unsafeUninitializedCapacity: count) { buffer, filled in
      filled = list(buffer.baseAddress, count)
    }
    return found.map {
      Watching(
        session: SessionHandle(rawValue: $0.session), viewer: UserHandle(rawValue: $0.viewer),
        user: UserHandle(rawValue: $0.user))
    }
  }
}
