// SPDX-License-Identifier: Apache-2.0
import RelayProtocol

/// The collapse id of a message. All attempts of a push have the same id, and each message has its own.
///
/// The id is `room/seq` if that fits, so that a person can read it in a log. A longer room name is replaced by its hash
/// after a `/`. No room name contains a `/`, so the two forms cannot be equal. The hash is FNV-1a of 128 bits (RFC
/// 9923). It need not be cryptographic: two messages of one room always differ by `seq`, and an attacker who finds two
/// room names with the same hash can only replace a notification of a user who is a member of both rooms.
func collapseID(room: RoomID, seq: Int64) -> String { collapseID(room: room, "\(seq)") }

/// The collapse id of all messages of a room of which a device shows only the newest.
func collapseID(room: RoomID) -> String { collapseID(room: room, "newest") }

private func collapseID(room: RoomID, _ end: String) -> String {
  let readable = "\(room)/\(end)"
  if readable.utf8.count <= PushHeaders.maxCollapseID { return readable }
  let digits = String(fnv1a(room.rawValue.utf8), radix: 16)
  return "/\(String(repeating: "0", count: 32 - digits.count))\(digits)/\(end)"
}

func fnv1a(_ bytes: some Sequence<UInt8>) -> UInt128 {
  bytes.reduce(0x6c62_272e_07bb_0142_62b8_2175_6295_c58d) { ($0 ^ UInt128($1)) &* 0x0100_0000_0000_0000_0000_013b }
}
