// SPDX-License-Identifier: Apache-2.0
// Signed tokens, for Apple's service (`ProviderKey`) and for browsers' push services (`VAPIDKey`).
import Crypto
import Foundation
import RelayProtocol

extension P256.Signing.PrivateKey {
  /// Returns a token (RFC 7519) that is signed with ES256. Its signature is the 64 bytes of R and S (RFC 7518,
  /// section 3.4). Tokens for Apple's service and VAPID tokens use it.
  ///
  /// - Parameters:
  ///   - header: A JSON object that names the algorithm.
  ///   - claims: A JSON object.
  func token(header: String, claims: String) throws -> String {
    let signed = Data(header.utf8).base64URL + "." + Data(claims.utf8).base64URL
    return try signed + "." + signature(for: Data(signed.utf8)).rawRepresentation.base64URL
  }
}
