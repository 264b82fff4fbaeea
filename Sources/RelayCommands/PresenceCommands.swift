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
    also: [People.sharedRoom], isRead: true, errors: [.tooLarge])

  private let request: Request
  private let subject: Subject

  private enum Subject {
    case users([UserID])
    case room(RoomID)
  }

  init(_ request: Request) throws(RequestError) {
    self.request = request
    let fields = request.fields
    // A session's `room` is parsed before `users`, so a `room` of a wrong type is an error even if `users` is given.
    // HTTP has no `room`.
    let room: RoomID? = request.caller.session == nil ? nil : try fields.name("room")
    let max = if case .backend = request.caller { People.maxNamesOfBackend } else { People.maxNames }
    if let users: [UserID] = try fields.names("users", max: max) {
      subject = .users(users)
    } else if request.caller.session == nil {
      subject = .users(try fields.required("users", nil))
    } else {
      subject = .room(try fields.required("room", room))
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
  package static let declaration = Declaration(frame: "watch", room: People.sharedRoom, errors: [.tooLarge])

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
  package static let declaration = Declaration(frame: "unwatch", room: .noRoom, errors: [.tooLarge])

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

extension Request {
  /// The names of `users`, without duplicates.
  fileprivate var watched: [UserID] {
    get throws(RequestError) {
      // A frame is too small for so many names. The limit `watched` rejects a list that is too long before the store is
      // read.
      let names: [UserID] = try fields.required("users", fields.names("users", max: 65_536))
      var seen: Set<UserID> = []
      let each = names.filter { seen.insert($0).inserted }
      guard limits.watched == 0 || each.count <= limits.watched else {
        throw RequestError(.tooLarge, "the limit `watched` is exceeded", at: "/users")
      }
      return each
    }
  }
}
