// SPDX-License-Identifier: Apache-2.0
import Crypto
import Foundation
import RelayProtocol

/// The credential of an app's extensions on one device.
///
/// An extension runs days after the app, when every token has expired. The key does not expire. It is 256 random bits, so
/// that its hash needs no salt and no slow function. The relay stores the hash alone.
package struct ReportKey: Sendable {
  /// The key as the `Authorization` header carries it.
  package let text: String

  package static let prefix = "swr_"
  private static let randomBytes = 32
  /// 32 bytes in base64url without padding.
  private static let encodedLength = 43

  /// A new random key.
  package init() {
    text =
      Self.prefix + SymmetricKey(size: .init(bitCount: 8 * Self.randomBytes)).withUnsafeBytes { Data($0) }.base64URL
  }

  /// Parses a bearer token. Is `nil` if it does not have the shape of a report key.
  package init?(_ token: String) {
    let encoded = token.utf8.dropFirst(Self.prefix.utf8.count)
    guard token.hasPrefix(Self.prefix), encoded.count == Self.encodedLength,
      encoded.allSatisfy({
        (48...57).contains($0) || (65...90).contains($0) || (97...122).contains($0) || $0 == UInt8(ascii: "-")
          || $0 == UInt8(ascii: "_")
      })
    else { return nil }
    text = token
  }

  /// SHA-256 of the text.
  package var hash: [UInt8] { Array(SHA256.hash(data: Data(text.utf8))) }
}
