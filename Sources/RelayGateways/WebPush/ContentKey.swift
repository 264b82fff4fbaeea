// SPDX-License-Identifier: Apache-2.0
import Crypto
import Foundation

/// The key and nonce that encrypt a body with the content coding `aes128gcm` (RFC 8188).
struct ContentKey {
  let salt: Data
  let key: SymmetricKey
  /// The nonce of the first record (section 2.3).
  let nonce: Data

  static let saltSize = 16
  /// Bytes that a record adds to its text: the delimiter of section 2 and the tag.
  static let recordOverhead = 17

  /// - Parameter secret: The input keying material of section 2.2.
  init(secret: SymmetricKey, salt: Data) {
    precondition(salt.count == Self.saltSize, "RFC 8188, section 2.1, requires a salt of 16 bytes")
    self.salt = salt
    let pseudorandom = HKDF<SHA256>.extract(inputKeyMaterial: secret, salt: salt)
    func expand(_ name: String, _ size: Int) -> SymmetricKey {
      HKDF<SHA256>.expand(
        pseudoRandomKey: pseudorandom, info: Data("Content-Encoding: \(name)\0".utf8), outputByteCount: size)
    }
    key = expand("aes128gcm", 16)
    nonce = expand("nonce", 12).withUnsafeBytes { Data($0) }
  }

  /// Returns the header and one record, which is the last, with the encrypted text.
  /// - Parameters:
  ///   - keyID: At most 255 bytes.
  ///   - recordSize: The record size in the header. The text and ``recordOverhead`` must fit into it.
  func seal(_ text: some DataProtocol, keyID: Data, recordSize: UInt32 = 4096) throws -> [UInt8] {
    precondition(keyID.count <= 255, "RFC 8188, section 2.1, has one byte for the length of the key id")
    precondition(text.count + Self.recordOverhead <= recordSize, "the text must fit into one record")
    let delimiter: UInt8 = 2
    let box = try AES.GCM.seal(text + [delimiter], using: key, nonce: AES.GCM.Nonce(data: nonce))
    var bytes = [UInt8](salt)
    bytes += withUnsafeBytes(of: recordSize.bigEndian) { [UInt8]($0) }
    bytes.append(UInt8(keyID.count))
    bytes += keyID
    return bytes + box.ciphertext + box.tag
  }
}
