// SPDX-License-Identifier: Apache-2.0
import RelayHub
import RelayIdentity
import RelayJSON
import RelayProtocol
import RelayStore

/// Presence of people with whom no room need be shared.
extension Relay {
  func watch(_ request: HubRequest, _ user: UserHandle) async throws {
    let names = try watched(request.fields)
    try spend(.request, of: user, count: names.count / Self.namesPerRead)
    let users = try await retain(names)
    defer { users.forEach(hub.release) }
    do {
      try hub.checkMayWatch(request.session, users)
    } catch .tooMany {
      throw RequestError(.tooLarge, "one past the limit `watched`", at: "/users")
    }
    let permissions = permissions(of: request.session)
    let relatives = try await steadyRelatives(of: user, permissions, among: names)
    for (name, handle) in zip(names, users) where !sees(handle, name, by: user, relatives) {
      try checkMayWatch(name, permissions)
    }
    for (name, handle) in zip(names, users) {
      do {
        try hub.watch(request.session, handle, isRelated: relatives.users.contains(name), isJudged: relatives.isJudged)
      } catch .tooMany {  // another request of the session came first
        throw RequestError(.tooLarge, "one past the limit `watched`", at: "/users")
      }
    }
    let entries = zip(names, users).map { name, handle in
      hub.entry(of: handle, seenBy: user, isRelated: sees(handle, name, by: user, relatives)) ?? []
    }
    finish(request) { $0.raw("presence", JSONWriter.array(entries)) }
  }

  /// Names of `watch` and `presence` that cost as much as one request: the store looks for rooms that are shared with
  /// each of them.
  static let namesPerRead = 32

  func unwatch(_ request: HubRequest) throws {
    for name in try watched(request.fields) {
      if let user = hub.user(name) { hub.unwatch(request.session, user) }
    }
    finish(request)
  }

  /// Each of `users` once.
  private func watched(_ fields: Fields) throws(RequestError) -> [UserID] {
    // More than may be watched is refused as such, and nothing is read for it.
    let names: [UserID] = try fields.required("users", fields.names("users", most: 65_536))
    var seen: Set<UserID> = []
    let each = names.filter { seen.insert($0).inserted }
    guard limits.watched == 0 || each.count <= limits.watched else {
      throw RequestError(.tooLarge, "one past the limit `watched`", at: "/users")
    }
    return each
  }

  /// Throws `forbidden` where somebody with whom no room is shared may not be seen.
  func checkMayWatch(_ user: UserID, _ permissions: Permissions) throws(RequestError) {
    guard mayWatch(user, permissions) else {
      throw RequestError(.forbidden, "no room is shared with \(user)", at: "/users")
    }
  }
}
