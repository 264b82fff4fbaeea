// SPDX-License-Identifier: Apache-2.0
import Synchronization

/// Migrations after those of this release, for a program of the tests that plays the next release. The relay adds none.
package enum LaterMigrations {
  private static let list = Mutex<[(name: String, sql: String)]>([])

  static var all: [(name: String, sql: String)] { list.withLock { $0 } }

  /// Call this before the process opens a database.
  package static func add(_ name: String, _ sql: String) { list.withLock { $0.append((name, sql)) } }
}
