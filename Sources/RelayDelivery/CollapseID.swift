// SPDX-License-Identifier: Apache-2.0
import RelayProtocol

/// The collapse id of a message for one recipient. All attempts of a push have the same id, and each message has its own.
///
/// The id is `room/seq/recipient` if that fits, so that a person can read the room and the seq in a log. The recipient
/// is a hash of 32 bits: a phone has a few accounts, and the push of one must not replace that of another. A longer room
/// name is replaced by its hash after a `/`. No room name contains a `/`, so the two forms cannot be equal. The hash is
/// FNV-1a of 128 bits (RFC 9923). It need not be cryptographic: two messages of one room always differ by `seq`, and an
/// attacker who finds two names with the same hash can only replace a notification of a user who is a member of both
/// rooms, or who has both accounts.
func collapseID(room: RoomID, seq: Int64, for recipient: UserID) -> String {
  collapseID(room: room, "\(seq)", for: recipient)
}

/// The collapse id of all messages of a room of which a device shows only the newest.
func collapseID(room: RoomID, for recipient: UserID) -> String { collapseID(room: room, "newest", for: recipient) }

private func collapseID(room: RoomID, _ name: String, for recipient: UserID) -> String {
  let account = hex(UInt32(truncatingIfNeeded: fnv1a(recipient.rawValue.utf8)))
  let readable = "\(room)/\(name)/\(account)"
  if readable.utf8.count <= PushHeaders.maxCollapseID { return readable }
  return "/\(hex(fnv1a(room.rawValue.utf8)))/\(name)/\(account)"
}

private func hex<Number: FixedWidthInteger>(_ number: Number) -> String {
  let digits = String(number, radix: 16)
  return String(repeating: "0", count: Number.bitWidth / 4 - digits.count) + digits
}

func fnv1a(_ bytes: some Sequence<UInt8>) -> UInt128 {
  bytes.reduce(0x6c62_272e_07bb_0142_62b8_2175_6295_c58d) { ($0 ^ UInt128($1)) &* 0x0100_0000_0000_0000_0000_013b }
}
