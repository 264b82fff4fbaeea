// SPDX-License-Identifier: Apache-2.0
import RelayHub
import RelayIdentity
import RelayJSON
import RelayProtocol
import RelayStore

/// The profile of a user, which a backend sets without a token of that user.
extension Relay {
  static let userRoutes = [
    Route("/v1/users/{user}", .called("PUT", by: .backend) { relay, call in try await relay.putUser(call) })
  ]

  private func putUser(_ call: HTTPCall) async throws -> HTTPResponse {
    let name = try call.user
    let fields = try parser.parse(call.request.body)
    try fields.checkNames(among: ["name", "avatar", "avatarSHA256", "handle", "handleType"])
    let change = try ProfileChange(fields)
    let (user, missing) = try await store.write { transaction in
      var missing: ProfileChange.Missing?
      let user = try transaction.people.changeProfile(of: name) { missing = change.apply(to: &$0) }
      return (user, missing)
    }
    if let missing { throw fields.wrong(missing.member, "needs \(missing.needed)") }
    if let handle = hub.user(name) { hub.setProfile(user, of: handle) }
    return .json(200) {
      $0["user"] = user.id.rawValue
      $0["name"] = user.name
      $0["avatar"] = user.avatar
      $0["avatarSHA256"] = user.avatarSHA256
      $0["handle"] = user.handle
      $0["handleType"] = user.handleType
    }
  }
}

/// A change of some members of a profile. A member that is absent stays as it is, and null clears it.
private struct ProfileChange: Sendable {
  /// A member that describes another one, which the profile lacks.
  struct Missing: Sendable {
    let member: String
    let needed: String
  }

  private let values: User
  private let handleType: String?
  private let changed: Set<String>

  init(_ fields: Fields) throws(RequestError) {
    values = try fields.profile(of: UserID(unchecked: ""), hasAddress: true)
    changed = Set(fields.members.keys)
    let type = try fields.string("handleType", longest: User.longestHandle)
    handleType = type?.isEmpty == false ? type : nil
  }

  /// Changes `stored`, or returns what is missing and leaves it as it is.
  func apply(to stored: inout User) -> Missing? {
    var user = stored
    if changed.contains("name") { user.name = values.name }
    // The type describes the handle, and the hash the picture: without them a new handle or picture clears them.
    if changed.contains("handle") { (user.handle, user.handleType) = (values.handle, nil) }
    if changed.contains("handleType") {
      if handleType != nil, user.handle == nil { return Missing(member: "handleType", needed: "handle") }
      user.handleType = handleType
    }
    if changed.contains("avatar") { (user.avatar, user.avatarSHA256) = (values.avatar, nil) }
    if changed.contains("avatarSHA256") {
      if values.avatarSHA256 != nil, user.avatar == nil { return Missing(member: "avatarSHA256", needed: "avatar") }
      user.avatarSHA256 = values.avatarSHA256
    }
    stored = user
    return nil
  }
}
