// SPDX-License-Identifier: Apache-2.0

// The command about a user's list of rooms. `InboxList` reads the pages.

import RelayFollowers
import RelayProtocol
import RelayRequests
import RelayState

/// Lists the rooms of a user, those with the newest activity first, or those that have changed since a position.
struct ListRooms: Command {
  package static let declaration = Declaration(
    frame: "rooms", "GET", "/v1/users/{user}/rooms", room: .found(InboxList.rights, "the own rooms"),
    also: [.found(StoredText.roomList.rights, "the previews of the newest messages", isRead: true)],
    fields: InboxList.fields, reach: .rooms)

  private let caller: Caller
  private let user: UserID
  private let list: InboxList

  init(_ request: Request) throws(RequestError) {
    caller = request.caller
    user = try request.user
    list = try InboxList(request)
  }

  package func run(_ relay: Relay, on core: isolated Core) async throws -> Reply {
    Reply(try await list.read(of: user, relay.access.permissions(of: caller, on: core), relay.late, on: core))
  }
}
