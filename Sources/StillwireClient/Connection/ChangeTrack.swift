// SPDX-License-Identifier: Apache-2.0
import RelayJSON

/// The changes of messages in one room that the app has, by their numbers.
///
/// The relay sends a change to all sessions except the one that requested it, which gets the number in its reply. So a
/// number may be missing while later ones have arrived.
struct ChangeTrack: Equatable {
  /// The app has all changes up to this number. Is `nil` before the first join, or if the relay numbers no changes.
  private(set) var newest: Int64?
  /// Later changes that the app has.
  private var ahead: Set<Int64> = []

  /// Maximum number of changes after a missing one. The app may get later ones again after a reconnect.
  static let maxAhead = 300

  init() {}

  /// The changes after a reply to `join`, which is complete up to its `change`.
  init(joined reply: JSON) {
    newest = reply["change"]?.integer
    for change in reply["changes"]?.items ?? [] { _ = arrived(change["change"]?.integer) }
  }

  func has(_ change: Int64?) -> Bool {
    guard let change, let newest else { return false }
    return change <= newest || ahead.contains(change)
  }

  /// True if the app has a change after a missing one, with a higher number than this.
  func hasLater(than change: Int64) -> Bool { ahead.contains { $0 > change } }

  /// Stores a change that the app now has.
  /// - Returns: True if it is new, or has no number.
  mutating func arrived(_ change: Int64?) -> Bool {
    guard let change, let newest else { return true }
    guard !has(change) else { return false }
    if change > newest + 1 {
      if ahead.count < Self.maxAhead { ahead.insert(change) }
      return true
    }
    var last = change
    while ahead.remove(last + 1) != nil { last += 1 }
    self.newest = last
    return true
  }
}

extension Frame {
  /// True if the frame is the event of a change of a message.
  var isChange: Bool { ["edited", "deleted", "reactions", "pinned"].contains(type) }

  /// Makes the event that other sessions get about the edit or the deletion of a request. Returns `nil` for other
  /// requests.
  init?(changeBy request: String, _ members: [String: JSON]) {
    guard let event = ["edit": "edited", "delete": "deleted"][request] else { return nil }
    self.init(.object(members.merging(["type": .string(event)]) { $1 }))
  }
}
