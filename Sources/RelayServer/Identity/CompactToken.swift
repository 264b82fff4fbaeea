// SPDX-License-Identifier: Apache-2.0
import Foundation
import RelayHub
import RelayJSON
import RelayProtocol

/// A token in its three parts (RFC 7515, section 3.1), of which nothing is known to be true yet.
struct CompactToken {
  let algorithm: String
  let keyID: String?
  let claims: Fields
  let signature: Data
  /// What the signature is of.
  let signed: Data

  /// In bytes.
  static let longest = 8192

  init(_ text: String, parser: JSONParser) throws(TokenFailure) {
    guard text.utf8.count <= Self.longest else { throw .invalid("the token is too long") }
    let parts = text.utf8.split(separator: UInt8(ascii: "."), omittingEmptySubsequences: false)
    guard parts.count == 3, let header = Self.decoded(parts[0]), let payload = Self.decoded(parts[1]),
      let signature = Self.decoded(parts[2])
    else { throw .invalid("the token is no JWT") }
    do {
      let header = try parser.parse([UInt8](header))
      // Extensions that must be understood are not (RFC 7515, section 4.1.11).
      guard !header.has("crit") else { throw TokenFailure.invalid("the token has critical extensions") }
      algorithm = try header.required("alg", header.string("alg", longest: 64))
      keyID = try header.string("kid", longest: 256)
      claims = try parser.parse([UInt8](payload))
    } catch let failure as TokenFailure {
      throw failure
    } catch {
      throw .invalid("the token is no JWT")
    }
    self.signature = signature
    signed = Data(text.utf8.prefix(parts[0].count + 1 + parts[1].count))
  }

  /// Base64url without padding (RFC 7515, section 2); one text for one value, so what is left over must be zero.
  private static func decoded(_ text: Substring.UTF8View) -> Data? {
    var base64 = ""
    for byte in text {
      switch byte {
      case UInt8(ascii: "-"): base64 += "+"
      case UInt8(ascii: "_"): base64 += "/"
      case UInt8(ascii: "+"), UInt8(ascii: "/"), UInt8(ascii: "="): return nil
      default: base64.unicodeScalars.append(Unicode.Scalar(byte))
      }
    }
    base64 += String(repeating: "=", count: (4 - base64.utf8.count % 4) % 4)
    guard let data = Data(base64Encoded: base64), data.base64EncodedString() == base64 else { return nil }
    return data
  }
}
