// SPDX-License-Identifier: Apache-2.0
import Crypto
import Foundation

/// The keys of a subscription. They encrypt a push so that only the subscribed browser can read it (RFC 8291). The
/// relay never logs them.
struct SubscriptionKeys: Sendable {
  /// The member `p256dh` of the subscription.
  let publicKey: P256.KeyAgreement.PublicKey
  /// The member `auth` of the subscription: a shared secret.
  let authentication: Data

  static let publicKeySize = 65
  static let authenticationSize = 16
  /// The largest text in bytes that every push service accepts. A service must accept bodies of 4096 bytes (RFC 8030,
  /// section 7.2). The header takes 21 of them, the sender's key 65 and the record 17.
  static let maxTextLength = 4096 - 21 - publicKeySize - ContentKey.recordOverhead

  /// Returns `nil` unless `publicKey` is an uncompressed point of P-256 and `authentication` has 16 bytes.
  init?(publicKey: [UInt8], authentication: [UInt8]) {
    guard publicKey.count == Self.publicKeySize, authentication.count == Self.authenticationSize,
      let key = try? P256.KeyAgreement.PublicKey(x963Representation: publicKey)
    else { return nil }
    self.publicKey = key
    self.authentication = Data(authentication)
  }

  /// Returns the encrypted body of a push. Use each `sender` and each `salt` once.
  /// - Parameters:
  ///   - text: At most ``maxTextLength`` bytes.
  ///   - sender: A key pair for this push only (section 3.1).
  ///   - salt: 16 random bytes.
  func seal(
    _ text: some DataProtocol, sender: P256.KeyAgreement.PrivateKey = .init(), salt: Data = .random(ContentKey.saltSize)
  ) throws -> [UInt8] {
    let key = ContentKey(secret: try secret(sharedWith: sender), salt: salt)
    return try key.seal(text, keyID: sender.publicKey.x963Representation)
  }

  /// Returns the input keying material (section 3.3).
  func secret(sharedWith sender: P256.KeyAgreement.PrivateKey) throws -> SymmetricKey {
    let info = Data("WebPush: info\0".utf8) + publicKey.x963Representation + sender.publicKey.x963Representation
    return try sender.sharedSecretFromKeyAgreement(with: publicKey)
      .hkdfDerivedSymmetricKey(using: SHA256.self, salt: authentication, sharedInfo: info, outputByteCount: 32)
  }
}

extension Data {
  /// Returns random bytes from the system's generator, which is suitable for keys.
  static func random(_ count: Int) -> Data {
    SymmetricKey(size: SymmetricKeySize(bitCount: count * 8)).withUnsafeBytes { Data($0) }
  }
}
