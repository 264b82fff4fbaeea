// SPDX-License-Identifier: Apache-2.0
import RelayProtocol

/// The simulated world. It is so small that its users often share rooms and tokens.
enum World {
  static let users = ["ann", "bob", "cat", "dan"].map(UserID.init(unchecked:))
  static let rooms = ["tea", "pub"].map(RoomID.init(unchecked:))
  /// The room that only a `create` makes, so that it has an owner. The first join makes the other one.
  static let group = rooms[1]
  static let devices = ["phone", "mac"].map(DeviceID.init(unchecked:))
  /// Fewer tokens than devices, so that tokens move from one device to another, and phones have several accounts.
  static let tokens = (0..<6).map { "token-\($0)" }
  /// The devices that report. One of them is never registered, so it gets no pushes.
  static let reporters = devices + [DeviceID(unchecked: "watch")]
  static let labels = ["work", "home"]
  /// The keys of reactions.
  static let reactions = ["👍", "tea"]
  /// The maximum number of connections of a user.
  static let places = 2
  static let slots = users.flatMap { user in (0..<places).map { Slot(user: user, place: $0) } }

  /// Time zones whose clocks do not change during a run.
  enum Zone: String, CaseIterable, Sendable {
    case greenwich = "UTC"
    case berlin = "Europe/Berlin"
    case kolkata = "Asia/Kolkata"
    case newYork = "America/New_York"

    /// The minutes ahead of UTC, in January.
    var offset: Int64 {
      switch self {
      case .greenwich: 0
      case .berlin: 60
      case .kolkata: 330
      case .newYork: -300
      }
    }
  }
}

/// One of a user's connections. Successive connections may use the same slot.
struct Slot: Hashable, Sendable, CustomStringConvertible {
  let user: UserID
  let place: Int

  var description: String { "\(user).\(place)" }
}

/// A user in a room.
struct Membership: Hashable, Sendable, CustomStringConvertible {
  let room: RoomID
  let user: UserID

  var description: String { "\(user) in \(room)" }
}

/// A message, by its room and seq.
struct Place: Hashable, Sendable, CustomStringConvertible {
  let room: RoomID
  let seq: Int64

  var description: String { "\(room)/\(seq)" }
}

/// A user's device.
struct Target: Hashable, Sendable, CustomStringConvertible {
  let user: UserID
  let device: DeviceID

  var description: String { "\(user)'s \(device)" }
}
