// SPDX-License-Identifier: Apache-2.0
import Foundation
import NIOCore

/// A block of IP addresses, such as 10.0.0.0/8 or ::1.
public struct AddressRange: Sendable, Equatable {
  private let first: [UInt8]
  private let bits: Int

  /// Parses an address with an optional prefix length. Returns `nil` if either is invalid.
  public init?(_ text: String) {
    let parts = text.split(separator: "/", maxSplits: 1, omittingEmptySubsequences: false)
    guard let address = try? SocketAddress(ipAddress: String(parts[0]), port: 0), let bytes = address.bytes,
      !parts[0].contains("%")
    else { return nil }
    guard parts.count == 2 else {
      self.init(first: bytes, bits: bytes.count * 8)
      return
    }
    guard let bits = Int(parts[1]), (0...bytes.count * 8).contains(bits), String(bits) == parts[1] else { return nil }
    self.init(first: bytes, bits: bits)
  }

  private init(first: [UInt8], bits: Int) {
    self.first = first
    self.bits = bits
  }

  /// - Parameter address: 4 or 16 bytes.
  func contains(_ address: [UInt8]) -> Bool {
    guard address.count == first.count else { return false }
    return (0..<bits).allSatisfy { bit in
      (address[bit / 8] ^ first[bit / 8]) & (0x80 >> UInt8(bit % 8)) == 0
    }
  }
}

extension SocketAddress {
  /// The bytes of an IP address. Is `nil` for the path of a Unix domain socket.
  var bytes: [UInt8]? {
    switch self {
    case .v4(let address): withUnsafeBytes(of: address.address.sin_addr) { [UInt8]($0) }
    case .v6(let address): withUnsafeBytes(of: address.address.sin6_addr) { [UInt8]($0) }
    case .unixDomainSocket: nil
    }
  }
}
