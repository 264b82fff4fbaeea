// SPDX-License-Identifier: Apache-2.0
import Crypto
import Foundation
import SwiftASN1
import X509

extension AppleSimulator {
  /// Returns a self-signed certificate and its key in PEM. It is valid for `localhost`, 127.0.0.1, ::1 and `host`, for
  /// 30 days.
  static func makeIdentity(for host: String, at time: Date = Date()) throws -> (certificates: String, key: String) {
    let key = P256.Signing.PrivateKey()
    let name = try DistinguishedName { CommonName("Stillwire's simulator of Apple's push service") }
    var names: [GeneralName] = [.dnsName("localhost"), address("127.0.0.1"), address("::1")].compactMap { $0 }
    if !["localhost", "127.0.0.1", "::1"].contains(host) { names.append(address(host) ?? .dnsName(host)) }
    let extensions = try Certificate.Extensions {
      Critical(BasicConstraints.isCertificateAuthority(maxPathLength: nil))
      Critical(KeyUsage(digitalSignature: true, keyCertSign: true))
      SubjectKeyIdentifier(hash: Certificate.PublicKey(key.publicKey))
      SubjectAlternativeNames(names)
    }
    let certificate = try Certificate(
      version: .v3, serialNumber: Certificate.SerialNumber(), publicKey: .init(key.publicKey),
      notValidBefore: time.addingTimeInterval(-3600), notValidAfter: time.addingTimeInterval(30 * 24 * 3600),
      issuer: name, subject: name, signatureAlgorithm: .ecdsaWithSHA256, extensions: extensions,
      issuerPrivateKey: .init(key))
    return (try certificate.serializeAsPEM().pemString, key.pemRepresentation)
  }

  private static func address(_ text: String) -> GeneralName? {
    var octets = [UInt8](repeating: 0, count: 16)
    if inet_pton(AF_INET, text, &octets) == 1 { return .ipAddress(ASN1OctetString(contentBytes: octets[..<4])) }
    if inet_pton(AF_INET6, text, &octets) == 1 { return .ipAddress(ASN1OctetString(contentBytes: octets[...])) }
    return nil
  }
}
