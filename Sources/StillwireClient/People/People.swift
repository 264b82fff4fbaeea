// SPDX-License-Identifier: Apache-2.0
public import RelayProtocol

/// Who is in a room and what shows of them: a snapshot, and what has changed since.
public struct People: Equatable, Sendable {
  /// The members by name. Empty where the room is large, or one may not see them.
  public private(set) var entries: [UserID: Presence]
  public private(set) var memberCount: Int
  public private(set) var onlineCount: Int
  /// Whether entries are kept: not of large rooms, which are only counted.
  public private(set) var isListed: Bool

  public init() {
    entries = [:]
    memberCount = 0
    onlineCount = 0
    isListed = false
  }

  public enum Change: Equatable, Sendable {
    /// What the reply to `join` says; `entries` nil: only the counts.
    case shown(entries: [Presence]?, memberCount: Int, onlineCount: Int)
    /// Somebody's entry, whatever rooms they are in.
    case changed(Presence)
    /// Somebody is a member now; their entry follows.
    case joined(UserID, name: String?, memberCount: Int)
    case left(UserID, memberCount: Int)
    case counted(memberCount: Int, onlineCount: Int)
  }

  public subscript(user: UserID) -> Presence? { entries[user] }

  /// The people after one more change. Of who is no member nothing is kept.
  public func after(_ change: Change) -> People {
    var next = self
    switch change {
    case .shown(let entries, let memberCount, let onlineCount):
      next.entries = Dictionary((entries ?? []).map { ($0.user, $0) }) { _, last in last }
      next.memberCount = memberCount
      next.onlineCount = onlineCount
      next.isListed = entries != nil
    case .changed(let entry):
      guard entries[entry.user] != nil else { return self }
      next.entries[entry.user] = entry
    case .joined(let user, let name, let memberCount):
      next.memberCount = memberCount
      if isListed, entries[user] == nil { next.entries[user] = Presence(user: user, name: name) }
    case .left(let user, let memberCount):
      next.memberCount = memberCount
      next.entries[user] = nil
    case .counted(let memberCount, let onlineCount):
      // A room has become large: what is known of single people grows old.
      next.entries = [:]
      next.isListed = false
      next.memberCount = memberCount
      next.onlineCount = onlineCount
    }
    // One truth: where single people are known, they are counted.
    if next.isListed { next.onlineCount = next.entries.values.count { $0.isOnline } }
    return next
  }

  /// Online, and with notifications not silenced.
  public var reachable: [Presence] { sorted { $0.isOnline && !$0.isSilenced } }
  /// “… has notifications silenced.”
  public var silenced: [Presence] { sorted(\.isSilenced) }

  private func sorted(_ isWanted: (Presence) -> Bool) -> [Presence] {
    entries.values.filter(isWanted).sorted { $0.user < $1.user }
  }
}
