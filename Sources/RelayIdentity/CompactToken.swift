// SPDX-License-Identifier: Apache-2.0
import Foundation
import RelayJSON
import RelayProtocol

/// The three parts of a token (RFC 7515, section 3.1), parsed but not verified.
struct CompactToken {
  let algorithm: String
  let keyID: String?
  let claims: Fields
  let signature: Data
  /// The bytes that the signature covers.
  let signed: Data

  /// The maximum length of a token, in bytes.
  static let maxLength = 8192

  init(_ text: String) throws(TokenFailure) {
    guard text.utf8.count <= Self.maxLength else { throw .invalid("the token is too long") }
    let parts = text.utf8.split(separator: UInt8(ascii: "."), omittingEmptySubsequences: false)
    guard parts.count == 3, let header = Self.fields(of: parts[0]), let claims = Self.fields(of: parts[1]),
      let signature = [UInt8](base64URL: parts[2])
    else { throw .invalid("the token is no JWT") }
    do {
      // The relay knows no critical extension, so it must reject a token that has one (RFC 7515, section 4.1.11).
      guard !header.has("crit") else { throw TokenFailure.invalid("the token has critical extensions") }
      algorithm = try header.required("alg", header.string("alg", maxLength: 64))
      keyID = try header.string("kid", maxLength: 256)
    } catch let failure as TokenFailure {
      throw failure
    } catch {
      throw .invalid("the token is no JWT")
    }
    self.claims = claims
    self.signature = Data(signature)
    signed = Data(text.utf8.prefix(parts[0].count + 1 + parts[1].count))
  }

  /// Decodes a part and parses its object. Returns `nil` if it is not base64url (RFC 7515, section 2) or not a JSON object.
  private static func fields(of part: Substring.UTF8View) -> Fields? {
    guard let bytes = [UInt8](base64URL: part), let value = JSON(reading: bytes, maxDepth: maxNesting) else {
      return nil
    }
    return try? Fields(value)
  }

  private static let maxNesting = 16
}
