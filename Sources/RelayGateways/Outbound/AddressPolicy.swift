// SPDX-License-Identifier: Apache-2.0
import NIOCore

/// Decides whether the relay may connect to an address that a client chose: public addresses only, so that no client
/// reaches the operator's private network.
///
/// Source: the special-purpose address registries of IANA (RFC 6890).
struct AddressPolicy: Sendable {
  /// Other addresses that the operator permits.
  var allowed: [AddressRange] = []

  func permits(_ address: SocketAddress) -> Bool {
    guard let bytes = address.bytes else { return false }
    return allowed.contains { $0.contains(bytes) } || Self.isPublic(bytes)
  }

  private static func isPublic(_ bytes: [UInt8]) -> Bool {
    if bytes.count == 4 { return !special.contains { $0.contains(bytes) } }
    // These addresses contain an IPv4 address in their last 4 bytes. Check that address.
    if embedding.contains(where: { $0.contains(bytes) }) { return isPublic(Array(bytes.suffix(4))) }
    return global.contains(bytes) && !special.contains { $0.contains(bytes) }
  }

  private static let global = range("2000::/3")
  /// IPv4-mapped addresses, and addresses of NAT64 (RFC 6052).
  private static let embedding = ["::ffff:0:0/96", "64:ff9b::/96"].map(range)
  private static let special = [
    "0.0.0.0/8", "10.0.0.0/8", "100.64.0.0/10", "127.0.0.0/8", "169.254.0.0/16", "172.16.0.0/12", "192.0.0.0/24",
    "192.0.2.0/24", "192.88.99.0/24", "192.168.0.0/16", "198.18.0.0/15", "198.51.100.0/24", "203.0.113.0/24",
    "224.0.0.0/3", "2001::/23", "2001:db8::/32", "2002::/16", "3fff::/20",
  ].map(range)

  private static func range(_ text: String) -> AddressRange {
    guard let range = AddressRange(text) else { preconditionFailure("invalid address range: \(text)") }
    return range
  }
}
