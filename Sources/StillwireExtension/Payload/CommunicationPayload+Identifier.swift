// SPDX-License-Identifier: Apache-2.0
// The identifier of the notification about a message.
package import RelayProtocol

extension CommunicationPayload {
  /// The identifier that the system gives to the push of this message, for a local notification about the same message:
  /// a request with it replaces the push. Is `nil` if the payload has no message. With `collapse` `room` the pushes of
  /// the room have another identifier.
  public var requestIdentifier: String? { message?.requestIdentifier }
}

extension MessageReference {
  /// The header `apns-collapse-id` of the message's pushes, as the relay makes it (`CollapseID.swift`): `room/seq`, or
  /// the hash of the room if its name is long.
  package var requestIdentifier: String {
    let readable = "\(room)/\(seq)"
    return readable.utf8.count <= 64 ? readable : "/\(Self.hash(room.rawValue.utf8))/\(seq)"
  }

  /// FNV-1a of 128 bits (RFC 9923) in hexadecimal digits. `UInt128` needs iOS 18.
  package static func hash(_ bytes: some Sequence<UInt8>) -> String {
    var (high, low): (UInt64, UInt64) = (0x6c62_272e_07bb_0142, 0x62b8_2175_6295_c58d)
    for byte in bytes {
      low ^= UInt64(byte)
      // The factor is 2^88 + 0x13b.
      let product = low.multipliedFullWidth(by: 0x13b)
      // `&*` of the compiler's module needs iOS 18.
      high = high.multipliedReportingOverflow(by: 0x13b).partialValue &+ product.high &+ low << 24
      low = product.low
    }
    return [high, low].map { half in
      let digits = String(half, radix: 16)
      return String(repeating: "0", count: 16 - digits.count) + digits
    }.joined()
  }
}
