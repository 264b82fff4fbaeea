// SPDX-License-Identifier: Apache-2.0
import RelayHub
import RelayProtocol

/// What a room does, by its name.
struct RoomPolicy {
  let traits: RoomTraits

  var isStored: Bool { traits.contains(.stored) }

  /// Rooms whose name begins with `live.` keep nothing; all others keep their messages and push.
  init(for room: RoomID) {
    traits = room.rawValue.hasPrefix("live.") ? [] : [.stored, .pushes]
  }
}
