// SPDX-License-Identifier: Apache-2.0

/// How pushes went.
struct PushTally: Sendable {
  enum Result: String, Sendable, CaseIterable { case sent, retried, paused, expired, dead }

  private var counts: [Result: UInt64] = [:]

  subscript(result: Result) -> UInt64 { counts[result] ?? 0 }

  /// Tokens that a gateway refused: those that went, and those that stayed because too many had gone.
  private(set) var forgotten: UInt64 = 0
  private(set) var kept: UInt64 = 0

  mutating func countForgotten() { forgotten += 1 }
  mutating func countKept() { kept += 1 }

  mutating func count(_ result: Result) { counts[result, default: 0] += 1 }
}
