// SPDX-License-Identifier: Apache-2.0
import RelayHub

/// The open streams of each API key. Pure.
struct StreamCounts {
  private var keys: [ExchangeHandle: String] = [:]
  private var counts: [String: Int] = [:]

  var isEmpty: Bool { keys.isEmpty && counts.isEmpty }

  /// The number of open streams of a key.
  subscript(key: String) -> Int { counts[key] ?? 0 }

  /// Adds a stream of a key. Each stream is added once.
  mutating func add(_ stream: ExchangeHandle, of key: String) {
    guard keys.updateValue(key, forKey: stream) == nil else { preconditionFailure("a stream began twice") }
    counts[key, default: 0] += 1
  }

  /// Removes a stream that has ended. Does nothing for an unknown stream.
  mutating func remove(_ stream: ExchangeHandle) {
    guard let key = keys.removeValue(forKey: stream), let count = counts[key] else { return }
    counts[key] = count > 1 ? count - 1 : nil
  }
}
