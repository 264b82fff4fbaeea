// SPDX-License-Identifier: Apache-2.0

/// Counts pushes by result, and tokens that gateways refused for good.
package struct PushTally: Sendable {
  package enum PushResult: String, Sendable, CaseIterable { case sent, retried, paused, expired, dead }

  private var counts: [PushResult: UInt64] = [:]

  package subscript(result: PushResult) -> UInt64 { counts[result] ?? 0 }

  /// The tokens that the relay removed after a gateway refused them for good.
  package private(set) var forgotten: UInt64 = 0
  /// The refused tokens that the relay kept, because it had removed too many.
  package private(set) var kept: UInt64 = 0

  mutating func countForgotten() { forgotten += 1 }
  mutating func countKept() { kept += 1 }

  mutating func count(_ result: PushResult) { counts[result, default: 0] += 1 }
}
