// SPDX-License-Identifier: Apache-2.0
import ArgumentParser

// `stillwire rooms`, `users` and `sessions`: lists of a running relay. `stillwire pushes` lists the push queue.

struct RoomList: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "rooms", abstract: "List the rooms of a running relay.",
    discussion: "The list is sorted by name. A room that stores nothing is in the list while it has members.")

  @OptionGroup var list: ListOptions

  @Option(help: ArgumentHelp("Only rooms whose names begin with this text.", valueName: "text"))
  var prefix: String?

  func run() async throws { try await list.print("rooms", [("prefix", prefix)], of: Room.self) }

  private struct Room: ListEntry {
    static let list = "rooms"
    static let columns = ["ROOM", "KIND", "MEMBERS", "SESSIONS", "SEQ", "STORED", "TITLE"]

    var room: String
    var kind: String
    var title: String?
    var seq: Int64
    var members: Int
    var sessions: Int
    var stored: Bool

    var id: String { room }
    var cells: [String] {
      [room, kind, "\(members)", "\(sessions)", "\(seq)", stored ? "yes" : "no", title ?? ""]
    }
  }
}

struct UserList: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "users", abstract: "List the users of a running relay.",
    discussion:
      "The list is sorted by name. With --online it has the order in which the relay has first seen the users.")

  @OptionGroup var list: ListOptions

  @Option(help: ArgumentHelp("Only users whose names begin with this text.", valueName: "text"))
  var prefix: String?

  @Flag(help: "Only users who are online.")
  var online = false

  func run() async throws {
    try await list.print("users", [("prefix", prefix), ("online", online ? "true" : nil)], of: User.self)
  }

  private struct User: ListEntry {
    static let list = "users"
    static let columns = ["USER", "ONLINE", "LAST SEEN", "SESSIONS", "DEVICES", "NAME"]

    var user: String
    var name: String?
    var online: Bool
    var lastSeen: Int64?
    var sessions: Int
    var devices: Int
    var suspended: Bool?

    var id: String { user }
    var cells: [String] {
      let state = suspended == true ? "suspended" : online ? "yes" : "no"
      return [user, state, lastSeen.map(TextTable.date) ?? "-", "\(sessions)", "\(devices)", name ?? ""]
    }
  }
}

struct SessionList: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "sessions", abstract: "List the open sessions of a running relay.",
    discussion: "The relay keeps no addresses of clients.")

  @OptionGroup var list: ListOptions

  @Option(help: ArgumentHelp("Only sessions of users whose names begin with this text.", valueName: "text"))
  var prefix: String?

  @Option(help: "Only sessions that have joined this room.")
  var room: String?

  func run() async throws {
    try await list.print("sessions", [("prefix", prefix), ("room", room)], of: Session.self)
  }

  private struct Session: ListEntry {
    static let list = "sessions"
    static let columns = ["SESSION", "USER", "DEVICE", "SINCE", "ACTIVITY", "ROOMS", "EXPIRES"]

    var session: String
    var user: String
    var device: String?
    var since: Int64
    var activity: String
    var expires: Int64?
    var rooms: Int

    var id: String { session }
    var cells: [String] {
      [
        session, user, device ?? "-", TextTable.date(since), activity, "\(rooms)",
        expires.map(TextTable.date) ?? "-",
      ]
    }
  }
}
