// SPDX-License-Identifier: Apache-2.0
import RelayProtocol

/// The next times of the wall clock at which work is due. All share the hub's only alarm. Pure.
package struct Alarms {
  package enum Kind { case holds, reports, calls }

  private var times: [Kind: Timestamp] = [:]

  /// The earliest time.
  var next: Timestamp? { times.values.min() }

  subscript(kind: Kind) -> Timestamp? {
    get { times[kind] }
    set { times[kind] = newValue }
  }

  /// Sets a time, unless an earlier one is set.
  /// - Returns: False if an earlier or the same time is set.
  mutating func bringForward(_ kind: Kind, to time: Timestamp) -> Bool {
    if let known = times[kind], known <= time { return false }
    times[kind] = time
    return true
  }

  func isDue(_ kind: Kind, at now: Timestamp) -> Bool { times[kind].map { $0 <= now } ?? false }
}
