// SPDX-License-Identifier: Apache-2.0
package import RelayJSON
package import RelayProtocol

/// A key by which the relay detects a repeated request.
package enum IdempotencyKey {
  /// The maximum length, in bytes.
  package static let maxLength = 128
}

extension Fields {
  package func idempotencyKey() throws(RequestError) -> String? {
    let key = try string("key", maxLength: IdempotencyKey.maxLength)
    guard key?.isEmpty != true else { throw wrong("key", "must not be empty") }
    return key
  }
}
