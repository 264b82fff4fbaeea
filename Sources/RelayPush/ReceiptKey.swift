// SPDX-License-Identifier: Apache-2.0
import Crypto
import Foundation
package import RelayProtocol

/// Signs and verifies the receipts of pushes. A client that returns a receipt has received the push on a device.
package struct ReceiptKey: Sendable {
  private let key: SymmetricKey

  /// - Parameter secret: The secret of the installation.
  package init(_ secret: [UInt8]) { key = SymmetricKey(data: secret) }

  /// Returns a receipt: the expiry in seconds since 1970, a dot, and 128 bits of an HMAC-SHA-256 (RFC 2104) in
  /// base64url.
  package func receipt(for notification: String, until end: Timestamp) -> String {
    receipt(for: notification, end: end.rawValue / 1000)
  }

  /// True if the receipt belongs to the notification and has not expired.
  package func accepts(_ receipt: String, for notification: String, now: Timestamp) -> Bool {
    guard let end = Int64(receipt.prefix { $0 != "." }) else { return false }
    let (given, known) = (receipt.utf8, self.receipt(for: notification, end: end).utf8)
    guard given.count == known.count else { return false }
    // Compare in constant time.
    let difference = zip(given, known).reduce(UInt8(0)) { $0 | ($1.0 ^ $1.1) }
    return difference == 0 && now.rawValue / 1000 < end
  }

  private func receipt(for notification: String, end: Int64) -> String {
    let text = Data("stillwire receipt\n\(notification)\n\(end)".utf8)
    let mark = HMAC<SHA256>.authenticationCode(for: text, using: key).prefix(16)
    return "\(end).\(Data(mark).base64URL)"
  }
}
