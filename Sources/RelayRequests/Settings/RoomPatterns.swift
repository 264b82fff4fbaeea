// SPDX-License-Identifier: Apache-2.0
import RelayIdentity
package import RelayJSON
package import RelayProtocol
import RelayStore

/// The policies of rooms, by patterns for their names.
package struct RoomPatterns: Equatable, Sendable {
  /// The patterns in order. The first that matches a room's name applies.
  package private(set) var patterns: [Pattern]

  package struct Pattern: Equatable, Sendable {
    package let match: String
    private let glob: Glob
    package let policy: RoomPolicy

    package init?(_ match: String, _ policy: RoomPolicy) {
      guard let glob = Glob(match) else { return nil }
      self.match = match
      self.glob = glob
      self.policy = policy
    }

    package func fits(_ room: RoomID) -> Bool { glob.matches(room.rawValue) }
  }

  /// The maximum number of patterns. More would slow down the first join of a room.
  package static let maxCount = 1_000

  /// The default: rooms named `live.…` keep nothing, and all others keep 1,000 messages for 30 days and push.
  package init() { patterns = [Pattern("live.*", .live)].compactMap { $0 } }

  /// The listed patterns, followed by the default patterns. Throws an error with the pointer of the wrong value.
  package init(_ list: [Fields]) throws(RequestError) {
    self.init()
    guard list.count <= Self.maxCount else {
      throw RequestError(.badRequest, "rooms must have at most \(Self.maxCount) patterns", at: "/rooms")
    }
    var listed: [Pattern] = []
    for fields in list {
      let match = try fields.required("match", fields.string("match", maxLength: Glob.maxLength))
      guard let pattern = Pattern(match, try RoomPolicy(fields)) else {
        throw fields.wrong("match", "may have only the characters of room names, and *")
      }
      guard !listed.contains(where: { $0.match == match }) else {
        throw fields.wrong("match", "is the pattern of an earlier entry, so this entry never applies")
      }
      listed.append(pattern)
    }
    patterns = listed + patterns
  }

  package func policy(for room: RoomID) -> RoomPolicy {
    if room.isNotifications { return .notifications }
    return patterns.first { $0.fits(room) }?.policy ?? RoomPolicy()
  }

  /// True if a member whose token has no claim `rooms` has these rights in every room.
  package func allGive(_ rights: Rights) -> Bool {
    patterns.allSatisfy { ($0.policy.can ?? .member).isSuperset(of: rights) }
  }

  /// The shortest time for which rooms keep messages.
  package var minAge: Duration? { (patterns.map(\.policy) + [RoomPolicy()]).compactMap(\.history.age).min() }
}

extension RoomPolicy {
  /// The names of ``hasPreview`` in a pattern.
  package enum Preview: String, CaseIterable {
    case text, none
  }

  fileprivate init(_ fields: Fields) throws(RequestError) {
    if let given = try fields.object("history") {
      if let count = try given.integer("count", Self.counts) { history.count = Int(count) }
      if let age = try given.integer("age", Self.ages) { history.age = age == 0 ? nil : .seconds(age) }
      if let minimum = try given.integer("minimum", Self.counts) { history.minimum = Int(minimum) }
      guard history.minimum <= history.count else {
        throw given.wrong("minimum", "exceeds `count` (\(history.count))")
      }
    }
    pushes = try fields.bool("push") ?? isStored
    guard isStored || !pushes else {
      throw fields.wrong("push", "needs history: a push has to find its message")
    }
    if let preview: Preview = try fields.choice("preview") { hasPreview = preview == .text }
    sendsReceipts = try fields.bool("receipts") ?? sendsReceipts
    if fields.has("can") { can = try fields.rights("can") }
    memberList = try fields.integer("memberList", Self.memberLists).map(Int.init)
    members = try fields.integer("members", Self.memberCounts).map(Int.init)
  }
}
