// SPDX-License-Identifier: Apache-2.0
import RelayIdentity
package import RelayJSON
package import RelayProtocol
import RelayStore

/// The policies of rooms, by patterns of their names.
package struct RoomPatterns: Equatable, Sendable {
  /// The first that fits counts.
  package private(set) var patterns: [Pattern]

  package struct Pattern: Equatable, Sendable {
    package let match: String
    private let glob: Glob
    package let policy: RoomPolicy

    init?(_ match: String, _ policy: RoomPolicy) {
      guard let glob = Glob(match) else { return nil }
      self.match = match
      self.glob = glob
      self.policy = policy
    }

    package func fits(_ room: RoomID) -> Bool { glob.matches(room.rawValue) }
  }

  /// More would make a first join slow.
  package static let most = 1_000

  /// Rooms whose name begins with `live.` keep nothing; all others keep 1,000 messages for 30 days, and push.
  package init() { patterns = [Pattern("live.*", .live)].compactMap { $0 } }

  /// The listed patterns, and behind them those of ``init()``. Throws the place of what is wrong.
  package init(_ list: [Fields]) throws(RequestError) {
    self.init()
    guard list.count <= Self.most else {
      throw RequestError(.badRequest, "rooms must have at most \(Self.most) patterns", at: "/rooms")
    }
    var listed: [Pattern] = []
    for fields in list {
      let match = try fields.required("match", fields.string("match", longest: Glob.longest))
      guard let pattern = Pattern(match, try RoomPolicy(fields)) else {
        throw fields.wrong("match", "must be made of what rooms' names are made of, and *")
      }
      guard !listed.contains(where: { $0.match == match }) else {
        throw fields.wrong("match", "is a pattern before this one, so this one never counts")
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
  func allGive(_ rights: Rights) -> Bool {
    patterns.allSatisfy { ($0.policy.can ?? .standard).isSuperset(of: rights) }
  }

  /// The shortest time for which some room keeps messages.
  package var shortestAge: Duration? { (patterns.map(\.policy) + [RoomPolicy()]).compactMap(\.history.age).min() }
}

extension RoomPolicy {
  /// The spelling of ``hasPreview`` in a pattern.
  package enum Preview: String, CaseIterable {
    case text, none
  }

  fileprivate init(_ fields: Fields) throws(RequestError) {
    if let told = try fields.object("history") {
      if let count = try told.integer("count", Self.counts) { history.count = Int(count) }
      if let age = try told.integer("age", Self.ages) { history.age = age == 0 ? nil : .seconds(age) }
    }
    pushes = try fields.bool("push") ?? isStored
    guard isStored || !pushes else {
      throw fields.wrong("push", "needs history: a push has to find its message")
    }
    if let preview: Preview = try fields.choice("preview") { hasPreview = preview == .text }
    tellsReceipts = try fields.bool("receipts") ?? tellsReceipts
    if fields.has("can") { can = try fields.rights("can") }
    memberList = try fields.integer("memberList", Self.memberLists).map(Int.init)
    members = try fields.integer("members", Self.memberCounts).map(Int.init)
  }
}
