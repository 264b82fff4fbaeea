// SPDX-License-Identifier: Apache-2.0

/// The numbers of pushes by result.
package struct PushTally: Sendable {
  package enum Result: String, Sendable, CaseIterable { case sent, retried, paused, expired, dead }

  private var counts: [Result: UInt64] = [:]

  package subscript(result: Result) -> UInt64 { counts[result] ?? 0 }

  /// The tokens that a gateway refused for good: those that the relay forgot, and those that it kept because it had
  /// forgotten too many.
  package private(set) var forgotten: UInt64 = 0
  package private(set) var kept: UInt64 = 0

  mutating func countForgotten() { forgotten += 1 }
  mutating func countKept() { kept += 1 }

  mutating func count(_ result: Result) { counts[result, default: 0] += 1 }
}
