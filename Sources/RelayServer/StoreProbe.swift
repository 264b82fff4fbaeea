// SPDX-License-Identifier: Apache-2.0
import Logging
import RelayStore

/// Finds out that a store which failed is well again, and that the database's files were removed, also where nobody
/// writes.
struct StoreProbe: Sendable {
  let store: Store
  let log: Logger

  static let pause = Duration.seconds(1)

  /// Tries a small write every second while the store is not available, until it is cancelled.
  func run() async {
    var logPause = LogPause()
    while !Task.isCancelled {
      try? await Task.sleep(for: Self.pause)
      store.checkFiles()
      guard !Task.isCancelled, !store.statistics.isAvailable else { continue }
      do {
        // Its result is in the statistics.
        try await store.write { try $0.touchDisk() }
      } catch {
        if logPause.isOver() { log.error("\(error)", metadata: ["code": "\(error.code.rawValue)"]) }
      }
    }
  }
}
