// SPDX-License-Identifier: Apache-2.0

/// How pushes went.
struct PushTally: Sendable {
  enum Result: String, Sendable, CaseIterable { case sent, retried, paused, expired, dead }

  private var counts: [Result: UInt64] = [:]

  subscript(result: Result) -> UInt64 { counts[result] ?? 0 }

  mutating func count(_ result: Result) { counts[result, default: 0] += 1 }
}
