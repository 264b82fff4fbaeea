// SPDX-License-Identifier: Apache-2.0
package import RelayHub

/// Decides which refused clients get their answer late. Pure.
///
/// A client that is refused for good, and that connects again without a pause, would cost the relay a handshake and the
/// check of a token each time. So from the third refusal of an address on, its answers wait. The number of addresses and
/// the number of answers that wait are bounded. Above the bounds, the relay answers at once.
package struct RefusalPace: Sendable {
  /// The time for which an answer waits.
  package static let delay = Duration.seconds(1)
  /// The time within which three refusals delay the third.
  package static let window = Duration.seconds(10)
  package static let maxWaiting = 100
  package static let maxAddresses = 4_096

  private struct Refusals {
    /// The last refusal, and the one before it.
    var last: ContinuousClock.Instant
    var former: ContinuousClock.Instant?
  }

  private var addresses: [ClientAddress: Refusals] = [:]
  /// The number of answers that wait.
  package private(set) var waiting = 0
  /// The earliest time of the next search for addresses to forget.
  private var nextSearch: ContinuousClock.Instant?

  package init() {}

  /// The number of addresses in memory.
  package var count: Int { addresses.count }

  /// Counts a refusal. Returns true if its answer must wait for ``delay``. The caller then calls ``answered()``.
  package mutating func refused(_ address: ClientAddress, at now: ContinuousClock.Instant) -> Bool {
    let known = addresses[address]
    guard known != nil || hasCapacity(at: now) else { return false }
    addresses[address] = Refusals(last: now, former: known?.last)
    guard let first = known?.former, now - first < Self.window, waiting < Self.maxWaiting else { return false }
    waiting += 1
    return true
  }

  /// An answer has waited.
  package mutating func answered() { waiting -= 1 }

  /// True if one more address fits. Forgets the addresses without a refusal within the window first, at most once a
  /// second.
  private mutating func hasCapacity(at now: ContinuousClock.Instant) -> Bool {
    if addresses.count < Self.maxAddresses { return true }
    if let nextSearch, now < nextSearch { return false }
    nextSearch = now + .seconds(1)
    addresses = addresses.filter { now - $0.value.last < Self.window }
    return addresses.count < Self.maxAddresses
  }
}
