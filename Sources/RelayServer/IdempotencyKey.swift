// SPDX-License-Identifier: Apache-2.0
import RelayHub
import RelayJSON
import RelayProtocol

/// What makes a second attempt at the same harmless.
enum IdempotencyKey {
  /// Bytes.
  static let longest = 128
}

extension Fields {
  func idempotencyKey() throws(RequestError) -> String? {
    let key = try string("key", longest: IdempotencyKey.longest)
    guard key?.isEmpty != true else { throw wrong("key", "must not be empty") }
    return key
  }
}

extension HTTPCall {
  /// That of the header.
  var idempotencyKey: String? {
    get throws(RequestError) {
      guard let key = request.idempotencyKey else { return nil }
      guard (1...IdempotencyKey.longest).contains(key.utf8.count) else {
        throw RequestError(
          .badRequest, "Idempotency-Key must be 1 to \(IdempotencyKey.longest) bytes long",
          at: "/headers/idempotency-key")
      }
      return key
    }
  }

  /// The header's, else the field's; both have to be right.
  func key(_ fields: Fields) throws(RequestError) -> String? {
    let key = try fields.idempotencyKey()
    return try idempotencyKey ?? key
  }
}
