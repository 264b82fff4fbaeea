// SPDX-License-Identifier: Apache-2.0

/// The message that a leader sends to its followers every ``interval``.
public struct Heartbeat: Hashable, Sendable {
  public static let interval = Duration.milliseconds(200)
  /// The maximum size of a heartbeat as text, in bytes.
  public static let maxText = 400

  public let term: UInt64
  /// The sequence of the leader's newest record. A follower subtracts its own for its lag.
  public let sequence: UInt64
  /// A follower that has started after the beginning of the term learns the leader from its heartbeats.
  public let leader: Leader
  /// The leader publishes no more in this term. Another node may take over at once.
  public let isLeaving: Bool

  public init(term: UInt64, sequence: UInt64, leader: Leader, isLeaving: Bool = false) {
    self.term = term
    self.sequence = sequence
    self.leader = leader
    self.isLeaving = isLeaving
  }

  private static let leaves = "leaves"

  /// The heartbeat as text: four words, and a fifth one if the leader leaves.
  public var text: String { "\(term) \(sequence) \(leader.name) \(leader.url)" + (isLeaving ? " \(Self.leaves)" : "") }

  /// Parses ``text``. Returns `nil` for any other text.
  public init?(text: String) {
    guard text.utf8.count <= Self.maxText else { return nil }
    let words = text.split(separator: " ", omittingEmptySubsequences: false)
    let isLeaving = words.count == 5 && words[4] == Self.leaves
    guard words.count == 4 || isLeaving, let term = words[0].strictNumber(), let sequence = words[1].strictNumber(),
      let leader = Leader(name: String(words[2]), url: String(words[3]))
    else { return nil }
    self.init(term: term, sequence: sequence, leader: leader, isLeaving: isLeaving)
  }
}
