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

/// Notices that the wall clock was set after a token was made. The token then has a wrong time, and the service refuses
/// it.
enum TokenClock {
  /// A smaller difference between both clocks is inaccuracy.
  static let maxStep = Duration.seconds(60)

  /// True if the wall clock was set since a token was made.
  /// - Parameters:
  ///   - made: The time of the monotonic clock at which the token was made.
  ///   - issued: The time of the wall clock at that moment.
  static func wasSet(
    since made: ContinuousClock.Instant, issued: Timestamp, at now: ContinuousClock.Instant, wall: Timestamp
  ) -> Bool {
    let step = (wall - issued) - (now - made)
    return step > maxStep || step < .zero - maxStep
  }
}
