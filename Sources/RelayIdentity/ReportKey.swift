// SPDX-License-Identifier: Apache-2.0
import Crypto
import Foundation
import RelayProtocol

/// The credential of an app's extensions on one device.
///
/// The system may run an extension days after the app, when every token has expired. A report key does not expire. It
/// is 256 random bits, so that its hash needs no salt and no slow function. The relay stores only the hash.
package struct ReportKey: Sendable {
  /// The key as it is sent in the header `Authorization`.
  package let text: String

  package static let prefix = "swr_"
  private static let randomBytes = 32
  /// 32 bytes in base64url without padding.
  private static let encodedLength = 43

  /// Makes a new random key.
  package init() {
    text =
      Self.prefix + SymmetricKey(size: .init(bitCount: 8 * Self.randomBytes)).withUnsafeBytes { Data($0) }.base64URL
  }

  /// Parses a bearer token. Returns `nil` if it does not have the form of a report key.
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

  /// The SHA-256 hash of the text.
  package var hash: [UInt8] { Array(SHA256.hash(data: Data(text.utf8))) }
}
