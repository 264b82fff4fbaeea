// SPDX-License-Identifier: Apache-2.0
import RelayStore

/// Finds out that a store which failed is well again, also where nobody writes.
struct StoreProbe: Sendable {
  let store: Store

  static let pause = Duration.seconds(1)

  /// Tries a small write every second while the store is not available, until it is cancelled.
  func run() async {
    while !Task.isCancelled {
      try? await Task.sleep(for: Self.pause)
      guard !Task.isCancelled, !store.statistics.isAvailable else { continue }
      // Its result is in the statistics.
      try? await store.write { try $0.touchDisk() }
    }
  }
}
