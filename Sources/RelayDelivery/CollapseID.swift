// SPDX-License-Identifier: Apache-2.0
import RelayProtocol

/// The collapse id of a message: the same at every attempt, another for every other message.
///
/// It is `room/seq` where that fits, so that a person can read it in a log. A longer room is hashed behind a `/`, which
/// no room name has, so that the two forms never meet. FNV-1a of 128 bits (RFC 9923) is enough and needs no
/// cryptography here: chance makes no two rooms of a user meet, and `seq` stays outside of it, so messages of one room
/// never do. Who makes two room names meet can but replace a notification of a user who is a member of both.
func collapseID(room: RoomID, seq: Int64) -> String { collapseID(room: room, "\(seq)") }

/// The collapse id of all messages of a room of which only the newest is to show.
func collapseID(room: RoomID) -> String { collapseID(room: room, "newest") }

private func collapseID(room: RoomID, _ end: String) -> String {
  let readable = "\(room)/\(end)"
  if readable.utf8.count <= PushHeaders.longestCollapseID { return readable }
  let digits = String(fnv1a(room.rawValue.utf8), radix: 16)
  return "/\(String(repeating: "0", count: 32 - digits.count))\(digits)/\(end)"
}

func fnv1a(_ bytes: some Sequence<UInt8>) -> UInt128 {
  bytes.reduce(0x6c62_272e_07bb_0142_62b8_2175_6295_c58d) { ($0 ^ UInt128($1)) &* 0x0100_0000_0000_0000_0000_013b }
}
