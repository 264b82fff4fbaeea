// SPDX-License-Identifier: Apache-2.0
import Synchronization

/// Notifies the push worker that the running transaction stores updates of phones. Safe to use from any thread.
final class UpdateListener: Sendable {
  private let listener = Mutex<(@Sendable () -> Void)?>(nil)

  func set(_ listener: @escaping @Sendable () -> Void) { self.listener.withLock { $0 = listener } }

  /// Call this on the writer's thread. The next transaction finds the updates.
  func notify() { listener.withLock { $0 }?() }
}
