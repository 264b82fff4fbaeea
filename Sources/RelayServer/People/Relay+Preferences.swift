// SPDX-License-Identifier: Apache-2.0
import RelayDelivery
import RelayHub
import RelayJSON
import RelayProtocol
import RelayStore

/// How users want to be told, what they share, and whom they have blocked.
extension Relay {
  func preferences(_ request: HubRequest, _ user: UserHandle) async throws {
    try check(.preferences, of: permissions(of: request.session))
    let preferences = try await change(preferences: request.fields, of: user)
    finish(request, Replies.preferences(preferences))
  }

  /// Changes what the fields say and leaves the rest.
  func change(preferences fields: Fields, of user: UserHandle) async throws -> Preferences {
    var person = recipient(user)
    try person.preferences.change(fields, now: hub.now)
    guard limits.roomsPerUser == 0 || person.preferences.rooms.count <= limits.roomsPerUser else {
      throw RequestError(.tooLarge, "one past the limit `roomsPerUser`", at: "\(fields.place)/rooms")
    }
    guard person.preferences != (recipient(user)).preferences else { return person.preferences }
    let preferences = person.preferences
    try await change(user, to: person, cause: nil) { try $0.people.save(preferences, of: $1) }
    return people[user]?.preferences ?? preferences
  }

  func block(_ request: HubRequest, _ user: UserHandle, _ isBlocked: Bool) async throws {
    try check(.preferences, of: permissions(of: request.session))
    let others: [UserID] = try request.fields.required("users", request.fields.names("users", most: 256))
    guard let name = hub.name(of: user) else { throw HubRefusal.gone }
    guard !isBlocked || !others.contains(name) else {
      throw RequestError(.badRequest, "nobody can block themselves", at: "/users")
    }
    // The request itself has taken one.
    try spend(.request, of: user, count: others.count / Self.namesPerToken)
    try await block(others, by: user, isBlocked)
    finish(request)
  }

  /// Names of `block` and `unblock` that cost as much as one request.
  private static let namesPerToken = 10

  /// Throws ``StoreError/tooMany(_:)`` when the user would block more than ``PeopleWriter/mostBlocked`` users.
  func block(_ others: [UserID], by user: UserHandle, _ isBlocked: Bool) async throws {
    var person = recipient(user)
    if isBlocked { person.blocked.formUnion(others) } else { person.blocked.subtract(others) }
    guard !isBlocked || person.blocked.count <= PeopleWriter.mostBlocked else {
      throw StoreError.tooMany(.blockedUsers)
    }
    try await change(user, to: person, cause: nil) { transaction, name in
      for other in others {
        _ = try isBlocked ? transaction.people.block(other, by: name) : transaction.people.unblock(other, by: name)
      }
    }
    for other in others { hub.setBlocked(isBlocked, other, by: user) }
  }
}
