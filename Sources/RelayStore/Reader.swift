// SPDX-License-Identifier: Apache-2.0
import GRDB
import RelayProtocol

/// What a read may ask: one consistent view. Valid until the read returns.
///
/// Its methods throw errors of SQLite, which ``Store`` turns into ``StoreError``.
public struct Reader {
  let db: Database
}
