// SPDX-License-Identifier: Apache-2.0
import RelayHub
import RelayJSON
package import RelayProtocol

/// A key that makes a second attempt at the same request harmless.
enum IdempotencyKey {
  /// Bytes.
  package static let longest = 128
}

extension Fields {
  package func idempotencyKey() throws(RequestError) -> String? {
    let key = try string("key", longest: IdempotencyKey.longest)
    guard key?.isEmpty != true else { throw wrong("key", "must not be empty") }
    return key
  }
}
