// SPDX-License-Identifier: Apache-2.0

/// The collapse id of a message for one recipient. All attempts of a push have the same id, and each message has its own.
/// On the phone it is the identifier of the notification.
///
/// The id is `room/seq/recipient` if that fits, so that a person can read the room and the seq in a log. The recipient
/// is a hash of 32 bits: a phone has a few accounts, and the push of one must not replace that of another. A longer room
/// name is replaced by its hash after a `/`. No room name contains a `/`, so the two forms cannot be equal. The hash is
/// FNV-1a of 128 bits (RFC 9923). It need not be cryptographic: two messages of one room always differ by `seq`, and an
/// attacker who finds two names with the same hash can only replace a notification of a user who is a member of both
/// rooms, or who has both accounts.
package enum CollapseID {
  /// The collapse id of one message.
  package static func of(_ message: MessageReference, for recipient: UserID) -> String {
    id(message.room, "\(message.seq)", recipient)
  }

  /// The collapse id of all messages of a room of which a device shows only the newest.
  package static func newest(in room: RoomID, for recipient: UserID) -> String { id(room, "newest", recipient) }

  private static func id(_ room: RoomID, _ name: String, _ recipient: UserID) -> String {
    let account = hash(recipient.rawValue.utf8).suffix(8)
    let readable = "\(room)/\(name)/\(account)"
    if readable.utf8.count <= APNsLimits.maxCollapseID { return readable }
    return "/\(hash(room.rawValue.utf8))/\(name)/\(account)"
  }

  /// FNV-1a of 128 bits in hexadecimal digits. `UInt128` needs iOS 18.
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
