// SPDX-License-Identifier: Apache-2.0
import Crypto
import Foundation

/// With what a push is encrypted so that only the browser of a subscription reads it (RFC 8291). Never logged.
struct SubscriptionKeys: Sendable {
  /// `p256dh`.
  let publicKey: P256.KeyAgreement.PublicKey
  /// `auth`.
  let authentication: Data

  static let publicKeySize = 65
  static let authenticationSize = 16
  /// Bytes of a text that every push service takes: it must accept bodies of 4096 (RFC 8030, section 7.2), of which the
  /// header has 21, the sender's key 65 and the record 17.
  static let longestText = 4096 - 21 - publicKeySize - ContentKey.recordOverhead

  /// nil: not a point of the curve, uncompressed, or not 16 bytes.
  init?(publicKey: [UInt8], authentication: [UInt8]) {
    guard publicKey.count == Self.publicKeySize, authentication.count == Self.authenticationSize,
      let key = try? P256.KeyAgreement.PublicKey(x963Representation: publicKey)
    else { return nil }
    self.publicKey = key
    self.authentication = Data(authentication)
  }

  /// The body of a push, for one use of `sender` and `salt`.
  /// - Parameters:
  ///   - text: At most ``longestText`` bytes.
  ///   - sender: A key of this push alone (section 3.1).
  ///   - salt: 16 random bytes.
  func seal(
    _ text: some DataProtocol, sender: P256.KeyAgreement.PrivateKey = .init(), salt: Data = .random(ContentKey.saltSize)
  ) throws -> [UInt8] {
    let key = ContentKey(secret: try secret(sharedWith: sender), salt: salt)
    return try key.seal(text, keyID: sender.publicKey.x963Representation)
  }

  /// The input keying material (section 3.3).
  func secret(sharedWith sender: P256.KeyAgreement.PrivateKey) throws -> SymmetricKey {
    let info = Data("WebPush: info\0".utf8) + publicKey.x963Representation + sender.publicKey.x963Representation
    return try sender.sharedSecretFromKeyAgreement(with: publicKey)
      .hkdfDerivedSymmetricKey(using: SHA256.self, salt: authentication, sharedInfo: info, outputByteCount: 32)
  }
}

extension Data {
  /// From the system's generator, which is fit for keys.
  static func random(_ count: Int) -> Data {
    SymmetricKey(size: SymmetricKeySize(bitCount: count * 8)).withUnsafeBytes { Data($0) }
  }
}
