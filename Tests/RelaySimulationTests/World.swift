// SPDX-License-Identifier: Apache-2.0
import RelayProtocol

/// The simulated world: so small that its people meet all the time.
enum World {
  static let users = ["ann", "bob", "cat", "dan"].map(UserID.init(unchecked:))
  static let rooms = ["tea", "pub"].map(RoomID.init(unchecked:))
  static let devices = ["phone", "mac"].map(DeviceID.init(unchecked:))
  /// Fewer than devices, so that a token goes from one to another.
  static let tokens = (0..<6).map { "token-\($0)" }
  /// Devices that report, one of which is never pushed to.
  static let reporters = devices + [DeviceID(unchecked: "watch")]
  static let labels = ["work", "home"]
  /// Connections of a user at the same time.
  static let places = 2
  static let slots = users.flatMap { user in (0..<places).map { Slot(user: user, place: $0) } }

  /// Places whose clocks are not changed in the weeks of a course.
  enum Zone: String, CaseIterable, Sendable {
    case greenwich = "UTC"
    case berlin = "Europe/Berlin"
    case kolkata = "Asia/Kolkata"
    case newYork = "America/New_York"

    /// Minutes before Greenwich, in January.
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

/// One of a user's connections, whichever is there.
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

/// A message, by where it stands.
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
