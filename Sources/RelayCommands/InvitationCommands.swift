// SPDX-License-Identifier: Apache-2.0

// Commands about the invitations of a user: list, accept, decline. `Invitations` and `Rooms` perform the changes.

import RelayJSON
import RelayProtocol
import RelayRequests
import RelayState
import RelayStore

/// Lists the open invitations of a user, newest first.
struct ListInvitations: Command {
  private static let limit = Field<Int>.whole("limit", 1...100, default: 50, "The maximum number of invitations.")
  private static let after = Field<Int64?>.made(
    "after", maxLength: 20, "the `next` of a page", "The `next` of the page before."
  ) { text in Int64(text).flatMap { $0 > 0 ? $0 : nil } }

  package static let declaration = Declaration(
    frame: "invitations", "GET", "/v1/users/{user}/invitations", room: .invited([], "the own invitations"),
    fields: [Self.limit, Self.after], reach: .rooms)

  private let user: UserID
  private let limit: Int
  private let before: Int64

  init(_ request: Request) throws(RequestError) {
    user = try request.user
    limit = try Self.limit.value(in: request)
    before = try Self.after.value(in: request) ?? .max
  }

  package func run(_ relay: Relay, on core: isolated Core) async throws -> Reply {
    // The reader's thread writes the text.
    let page = try await core.store.read { [user, limit, before] reader in
      let page = try reader.invitations.page(of: user, before: before, limit: limit)
      return (
        JSONWriter.array(page.invitations.map { invitation in JSONWriter.object { invitation.write(to: &$0) } }),
        page.next
      )
    }
    return Reply {
      $0.raw("invitations", page.0)
      $0["next"] = page.1.map(String.init)
    }
  }
}

/// Makes a user a member of a room to which the user is invited.
struct AcceptInvitation: Command {
  package static let declaration = Declaration(
    frame: "acceptInvitation", "POST", "/v1/users/{user}/invitations/{room}/accept",
    room: .invited(.join, "the own membership"), fields: [InvitationAnswer.room], body: .ignored,
    errors: [.notFound, .tooLarge])

  private let answer: InvitationAnswer

  init(_ request: Request) throws(RequestError) { answer = try InvitationAnswer(request) }

  package func run(_ relay: Relay, on core: isolated Core) async throws -> Reply {
    let (request, user, room) = (answer.request, answer.user, answer.room)
    relay.memory.retain(room)
    defer { relay.memory.release(room, on: core) }
    return try await relay.people.withUser(user, on: core) { handle in
      let pointer = request.fields.pointer(to: "room")
      // An invited user has the rights of a member.
      let rights = relay.access.rights(of: request.caller, in: room, on: core)
      try rights.check(Self.declaration.rights, in: room, at: pointer)
      let newcomer = Rooms.Newcomer(
        user: handle, rights: rights, pointer: pointer, isBounded: request.caller.owner != nil, needsInvitation: true)
      let added = try await relay.rooms.add(newcomer, to: room, on: core)
      return try relay.rooms.membership(of: handle, user, in: room, added, on: core)
    }
  }
}

/// Refuses an invitation. Has no effect without an invitation.
struct DeclineInvitation: Command {
  package static let declaration = Declaration(
    frame: "declineInvitation", "DELETE", "/v1/users/{user}/invitations/{room}",
    room: .invited([], "the own invitation"), fields: [InvitationAnswer.room])

  private let answer: InvitationAnswer

  init(_ request: Request) throws(RequestError) { answer = try InvitationAnswer(request) }

  package func run(_ relay: Relay, on core: isolated Core) async throws -> Reply {
    try await relay.invitations.decline(answer.room, by: answer.user, on: core)
    guard answer.request.caller.session != nil else { return .nothing }
    return Reply { $0["room"] = answer.room.rawValue }
  }
}

/// The request of a user who accepts or refuses an invitation.
private struct InvitationAnswer {
  static let room = Field<RoomID?>.name("room", "The room of the invitation.").required()

  let request: Request
  let user: UserID
  let room: RoomID

  init(_ request: Request) throws(RequestError) {
    self.request = request
    user = try request.user
    room = try Self.room.value(in: request)
  }
}
