// SPDX-License-Identifier: Apache-2.0
import GRDB
import RelayCore
import TestRelay

@testable import RelayStore

extension TestRelay {
  /// Changes the database behind the relay.
  func execute(_ sql: String) async throws { try await relay.store.pool.write { try $0.execute(sql: sql) } }
}
