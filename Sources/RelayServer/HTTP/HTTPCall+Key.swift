// SPDX-License-Identifier: Apache-2.0
import RelayHub
import RelayProtocol

extension HTTPCall {
  /// What makes a second attempt at the same harmless: the header's, else the field's; both have to be right.
  func key(_ fields: Fields) throws(RequestError) -> String? {
    let key = try fields.string("key", longest: Self.longestKey)
    guard key?.isEmpty != true else { throw fields.wrong("key", "must not be empty") }
    return try idempotencyKey ?? key
  }
}
