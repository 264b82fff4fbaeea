// SPDX-License-Identifier: Apache-2.0
import RelayJSON
import RelayProtocol
import Testing

@testable import StillwireClient
@testable import StillwireExtension

/// Invitations of a stranger, with a real relay.
@Suite(.timeLimit(.minutes(15))) struct InvitationLiveTests {
  /// The next event about an invitation.
  private func next(_ events: Subscription<Event>) async throws -> InvitationEvent {
    for await event in events { if case .invitation(let change) = event { return change } }
    throw StillwireError.closed
  }

  private func waitForConnection(of client: Stillwire) async {
    let events = client.events()
    if client.state != .open { _ = await events.first { $0 == .stateChanged(.open) } }
  }

  private func invited(
    _ body: @escaping @Sendable (_ ann: Stillwire, _ bob: Stillwire, RelayAddress) async throws -> Void
  ) async throws {
    try await LiveRelay().serve { address in
      try await withClient(of: "ann", at: address) { ann in
        try await withClient(of: "bob", at: address) { bob in
          for client in [ann, bob] { await waitForConnection(of: client) }
          try await body(ann, bob, address)
        }
      }
    }
  }

  private func newGroup(of user: Stillwire, title: String) async throws -> Room {
    let record = try await user.request("create", ["title": .string(title)])
    return user.room(try #require(record.name("room")))
  }

  @Test func `an accepted invitation gives the messages since then`() async throws {
    try await invited { ann, bob, _ in
      let events = bob.events()
      let books = try await newGroup(of: ann, title: "Books")
      try await books.join()
      try await books.send(text: "before")
      #expect(try await books.add("bob") == .invited("bob"))
      guard case .added(let invitation) = try await next(events) else { throw StillwireError.closed }
      #expect(invitation.room == books.id && invitation.kind == .group && invitation.title == "Books")
      #expect(invitation.inviter == "ann" && invitation.memberCount == 1)
      #expect(try await bob.invitations() == page([invitation]))
      try await books.send(text: "after")

      let membership = try await bob.acceptInvitation(books.id)
      #expect(membership.room == books.id && membership.user == "bob" && membership.memberCount == 2)
      #expect(membership.position.seq == 2 && membership.read == 1)
      #expect(try await next(events) == .ended(books.id, .accepted))
      #expect(try await bob.invitations() == page([]))
      let room = bob.room(books.id)
      let messages = room.messages()
      try await room.join(history: 1)
      #expect(await messages.first(1).map(\.text) == ["after"])
      // The users share a room now.
      let cakes = try await newGroup(of: ann, title: "Cakes")
      guard case .member(let member) = try await cakes.add("bob") else { throw StillwireError.closed }
      #expect(member.room == cakes.id && member.user == "bob" && member.memberCount == 2)
    }
  }

  @Test func `invitations have pages, and end when the user declines or blocks`() async throws {
    try await invited { ann, bob, address in
      let events = bob.events()
      var rooms: [RoomID] = []
      for title in ["Books", "Cakes", "Tea"] {
        let room = try await newGroup(of: ann, title: title)
        #expect(try await room.add("bob") == .invited("bob"))
        guard case .added(let invitation) = try await next(events) else { throw StillwireError.closed }
        #expect(invitation.title == title)
        rooms.append(room.id)
      }
      let first = try await bob.invitations(limit: 2)
      #expect(first.invitations.map(\.room) == [rooms[2], rooms[1]])
      let position = try #require(first.next)
      let second = try await bob.invitations(limit: 2, after: position)
      #expect(second.invitations.map(\.room) == [rooms[0]] && second.next == nil)
      #expect(await bob.invitationCount == 0)
      try await withClient(of: "bob", at: address, { $0.device = "tablet" }) { tablet in
        await waitForConnection(of: tablet)
        #expect(await tablet.invitationCount == 3)
      }

      try await bob.declineInvitation(rooms[1])
      #expect(try await next(events) == .ended(rooms[1], .declined))
      try await bob.declineInvitation(rooms[1])
      let error = await #expect(throws: StillwireError.self) { try await bob.acceptInvitation(rooms[1]) }
      #expect(error?.code == .refused(.notFound))
      _ = try await ann.request("remove", ["room": .string(rooms[0].rawValue), "user": "bob"])
      #expect(try await next(events) == .ended(rooms[0], .withdrawn))
      _ = try await bob.request("block", ["users": ["ann"]])
      #expect(try await next(events) == .ended(rooms[2], .blocked))
      #expect(try await bob.invitations() == page([]))
      #expect(try await ann.room(rooms[0]).add("bob") == .invited("bob"))
      #expect(try await bob.invitations() == page([]))
    }
  }

  private func page(_ invitations: [Invitation]) -> InvitationPage {
    var page = InvitationPage([:])
    page.invitations = invitations
    return page
  }
}
