// SPDX-License-Identifier: Apache-2.0
import CRelay

/// That a session hears of a user without sharing a room.
public struct Watching: Hashable, Sendable {
  public let session: SessionHandle
  /// Whose session it is.
  public let viewer: UserHandle
  /// Whom it watches.
  public let user: UserHandle
}

extension Hub {
  /// Throws ``HubRefusal/tooMany`` when the session would then watch more users than the limit `watched`.
  public func checkMayWatch(_ session: SessionHandle, _ users: [UserHandle]) throws(HubRefusal) {
    try HubRefusal.check(
      users.map(\.rawValue).withUnsafeBufferPointer {
        relay_session_may_watch(hub, session.rawValue, $0.baseAddress, $0.count)
      })
  }

  /// The session hears of the user from now on; what it is told in reply is not told again.
  /// - Parameters:
  ///   - isRelated: Whether they share a stored room, and so the session may see the focus.
  ///   - isJudged: ``isRelated`` says it of all rooms, because the session may not see who is in each.
  public func watch(
    _ session: SessionHandle, _ user: UserHandle, isRelated: Bool, isJudged: Bool
  ) throws(HubRefusal) {
    try HubRefusal.check(relay_session_watch(hub, session.rawValue, user.rawValue, isRelated, isJudged))
  }

  /// A reply tells the session of people as they are now, so that it also hears of what is undone before others would.
  public func noteTold(_ session: SessionHandle) { relay_session_told_presence(hub, session.rawValue) }

  public func unwatch(_ session: SessionHandle, _ user: UserHandle) {
    relay_session_unwatch(hub, session.rawValue, user.rawValue)
  }

  /// Corrects what was said in ``watch(_:_:isRelated:isJudged:)``; what the session may see follows.
  public func relate(_ watching: Watching, isRelated: Bool, isJudged: Bool) {
    _ = relay_session_watch_relate(hub, watching.session.rawValue, watching.user.rawValue, isRelated, isJudged)
  }

  /// Who watches the user, and whom the user's sessions watch.
  public func watches(of user: UserHandle) -> [Watching] {
    Self.watches { relay_user_watches(hub, user.rawValue, $0, $1) }
  }

  /// All of all sessions.
  public var watches: [Watching] {
    Self.watches { relay_watches(hub, $0, $1) }
  }

  /// - Parameter list: Writes at most so many there, and returns how many there are.
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
