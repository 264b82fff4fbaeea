// SPDX-License-Identifier: Apache-2.0
import Foundation

/// A value that only one thread at a time can access. `Mutex` of the module Synchronization needs iOS 18.
package final class Locked<Value: Sendable>: @unchecked Sendable {
  // Only `withLock` accesses the value, with the lock held.
  private var value: Value
  private let lock = NSLock()

  package init(_ value: Value) { self.value = value }

  /// A copy of the value.
  package var current: Value { withLock { $0 } }

  /// Calls the body with the lock held. The body must not block, and must not use this lock again.
  package func withLock<T>(_ body: (inout Value) throws -> T) rethrows -> T {
    lock.lock()
    defer { lock.unlock() }
    return try body(&value)
  }
}
