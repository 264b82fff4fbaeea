// SPDX-License-Identifier: Apache-2.0
import GRDB
import RelayState
import TestRelay

@testable import RelayStore

extension TestRelay {
  /// Changes the database behind the relay.
  func execute(_ sql: String) async throws { try await core.store.pool.write { try $0.execute(sql: sql) } }
}

extension Store {
  /// Lets the disk accept changes, or refuse them from now on.
  func setWritable(_ isWritable: Bool) async throws {
    try await pool.writeWithoutTransaction { try $0.execute(sql: "PRAGMA query_only = \(isWritable ? 0 : 1)") }
  }
}
