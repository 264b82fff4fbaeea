// SPDX-License-Identifier: Apache-2.0
import RelayHub
import RelayIdentity

/// The open streams of each API key. Pure.
struct StreamCounts {
  private var keys: [ExchangeHandle: BackendKey] = [:]
  private var counts: [String: Int] = [:]

  var isEmpty: Bool { keys.isEmpty && counts.isEmpty }

  /// The number of open streams of a key.
  subscript(key: String) -> Int { counts[key] ?? 0 }

  /// Adds a stream of a key. Each stream is added once.
  mutating func add(_ stream: ExchangeHandle, of key: BackendKey) {
    guard keys.updateValue(key, forKey: stream) == nil else { preconditionFailure("a stream began twice") }
    counts[key.name, default: 0] += 1
  }

  /// Removes a stream that has ended. Does nothing for an unknown stream.
  mutating func remove(_ stream: ExchangeHandle) {
    guard let key = keys.removeValue(forKey: stream)?.name, let count = counts[key] else { return }
    counts[key] = count > 1 ? count - 1 : nil
  }

  /// The streams of the keys that fulfil the condition.
  func streams(where condition: (BackendKey) -> Bool) -> [ExchangeHandle] {
    keys.filter { condition($0.value) }.map(\.key)
  }
}
