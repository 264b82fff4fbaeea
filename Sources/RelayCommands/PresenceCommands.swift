// SPDX-License-Identifier: Apache-2.0

// Commands about the presence of users: queries and watches.

import RelayHub
import RelayJSON
import RelayProtocol
import RelayRequests
import RelayState

/// Reads the presence of users, or of the members of a room that the session has joined.
struct QueryPresence: Command {
  package static let operation = "listPresence"
  package static let declaration = Declaration(
    frame: "presence", "POST", "/v1/presence", room: .joined(.presence, "the presence of all members"),
    also: [People.sharedRoom], fields: [room, users, usersOfBackend], isRead: true, errors: [.tooLarge])

  private static let room = SharedFields.anyRoom.onlyFrames
  private static let users = Field<[UserID]?>.names("users", max: People.maxNames).onlyFrames
  /// A user has the bound of frames over HTTP, too.
  private static let usersOfBackend = Field<[UserID]?>.names("users", max: People.maxNamesOfBackend).required().onlyHTTP

  private let request: Request
  private let subject: Subject

  private enum Subject {
    case users([UserID])
    case room(RoomID)
  }

  init(_ request: Request) throws(RequestError) {
    self.request = request
    switch request.caller {
    case .session:
      // A `room` of a wrong type is an error even if `users` is given.
      let room = try Self.room.value(in: request)
      if let users = try Self.users.value(in: request) {
        subject = .users(users)
      } else {
        subject = .room(try request.fields.required("room", room))
      }
    case .backend: subject = .users(try Self.usersOfBackend.value(in: request))
    case .user, .reporter: subject = .users(try Self.users.required().value(in: request))
    }
  }

  package func run(_ relay: Relay, on core: isolated Core) async throws -> Reply {
    let entries: [UInt8]
    switch subject {
    case .users(let users):
      entries = JSONWriter.array(try await relay.people.entries(of: users, for: request.caller, on: core))
    case .room:
      entries = try await inRoom(of: request, relay, on: core) { access in
        guard !core.hub.facts(of: access.handle, for: nil).isLarge else {
          throw RequestError(.tooLarge, "the room has more members than `memberList`")
        }
        return relay.rooms.entries(of: access.handle, seenBy: try request.caller.viewer(core.hub), on: core)
      }
    }
    if let session = request.caller.session { core.hub.notePresence(session) }
    return Reply { $0.raw("presence", entries) }
  }
}

/// Reads the presence of one user.
struct GetPresence: Command {
  package static let declaration = Declaration("GET", "/v1/users/{user}/presence", room: People.sharedRoom)

  private let caller: Caller
  private let user: UserID

  init(_ request: Request) throws(RequestError) {
    caller = request.caller
    user = try request.anyUser
  }

  package func run(_ relay: Relay, on core: isolated Core) async throws -> Reply {
    .text(try await relay.people.entries(of: [user], for: caller, on: core)[0])
  }
}

/// Subscribes a session to the presence of users, with or without a common room.
struct Watch: Command {
  package static let declaration = Declaration(
    frame: "watch", room: People.sharedRoom, fields: [WatchedUsers.field], errors: [.tooLarge])

  private let session: SessionCaller
  private let users: [UserID]

  init(_ request: Request) throws(RequestError) {
    session = request.session
    users = try request.watched
  }

  package func run(_ relay: Relay, on core: isolated Core) async throws -> Reply {
    let entries = try await relay.people.watch(users, from: session.session, of: session.user, on: core)
    return Reply { $0.raw("presence", JSONWriter.array(entries)) }
  }
}

/// Ends subscriptions of a session.
struct Unwatch: Command {
  package static let declaration = Declaration(
    frame: "unwatch", room: .noRoom, fields: [WatchedUsers.field], errors: [.tooLarge])

  private let session: SessionCaller
  private let users: [UserID]

  init(_ request: Request) throws(RequestError) {
    session = request.session
    users = try request.watched
  }

  package func run(_ relay: Relay, on core: isolated Core) async throws -> Reply {
    for name in users {
      if let user = core.hub.user(name) { core.hub.unwatch(session.session, user) }
    }
    return .nothing
  }
}

private enum WatchedUsers {
  /// The limit `watched` rejects a list that is too long before the store is read.
  static let field = Field<[UserID]?>.names("users", max: nil).required()
}

extension Request {
  /// The names of `users`, without duplicates.
  fileprivate var watched: [UserID] {
    get throws(RequestError) {
      var seen: Set<UserID> = []
      let each = try WatchedUsers.field.value(in: fields).filter { seen.insert($0).inserted }
      guard limits.watched == 0 || each.count <= limits.watched else {
        throw RequestError(.tooLarge, "the limit `watched` is exceeded", at: "/users")
      }
      return each
    }
  }
}
