// SPDX-License-Identifier: Apache-2.0
public import RelayProtocol

/// The people in a room and their visible presence.
public struct People: Equatable, Sendable {
  /// The members by user id. Is empty if the room is large, or if this user may not see the members.
  public private(set) var entries: [UserID: Presence]
  public private(set) var memberCount: Int
  public private(set) var onlineCount: Int
  /// True if `entries` is kept. For large rooms the relay sends only counts.
  public private(set) var isListed: Bool

  public init() {
    entries = [:]
    memberCount = 0
    onlineCount = 0
    isListed = false
  }

  /// A change of the people, from a reply or an event.
  public enum Change: Equatable, Sendable {
    /// The people of a reply. It has only counts if `entries` is `nil`.
    case shown(entries: [Presence]?, memberCount: Int, onlineCount: Int)
    /// The presence of a user changed. The event does not name a room.
    case changed(Presence)
    /// A user became a member. If the event lacks their presence, it follows in another event.
    case joined(UserID, name: String?, presence: Presence? = nil, memberCount: Int)
    case left(UserID, memberCount: Int)
    /// A moderator has restricted a member, or has ended the restriction.
    case restricted(UserID, until: Timestamp?)
    case counted(memberCount: Int, onlineCount: Int)
  }

  public subscript(user: UserID) -> Presence? { entries[user] }

  /// Returns the people after one more change. Ignores the presence of users who are not members.
  public func after(_ change: Change) -> People {
    var next = self
    switch change {
    case .shown(let entries, let memberCount, let onlineCount):
      next.entries = Dictionary((entries ?? []).map { ($0.user, $0) }) { _, last in last }
      next.memberCount = memberCount
      next.onlineCount = onlineCount
      next.isListed = entries != nil
    case .changed(let entry):
      guard let known = entries[entry.user] else { return self }
      next.entries[entry.user] = entry
      // The event has nothing that belongs to one room.
      next.entries[entry.user]?.restrictedUntil = known.restrictedUntil
    case .joined(let user, let name, let presence, let memberCount):
      next.memberCount = memberCount
      if isListed { next.entries[user] = presence ?? entries[user] ?? Presence(user: user, name: name) }
    case .left(let user, let memberCount):
      next.memberCount = memberCount
      next.entries[user] = nil
    case .restricted(let user, let until): next.entries[user]?.restrictedUntil = until
    case .counted(let memberCount, let onlineCount):
      // The room has become large, so the presence of its members is no longer updated.
      next.entries = [:]
      next.isListed = false
      next.memberCount = memberCount
      next.onlineCount = onlineCount
    }
    // A list of members is newer than a count, so the count follows from the list.
    if next.isListed { next.onlineCount = next.entries.values.count { $0.isOnline } }
    return next
  }

  /// Members who are online and have no Focus.
  public var reachable: [Presence] { sorted { $0.isOnline && !$0.isSilenced } }
  /// Members with a Focus (“… has notifications silenced”).
  public var silenced: [Presence] { sorted(\.isSilenced) }

  private func sorted(_ isWanted: (Presence) -> Bool) -> [Presence] {
    entries.values.filter(isWanted).sorted { $0.user < $1.user }
  }
}
