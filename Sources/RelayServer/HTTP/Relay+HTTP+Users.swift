// SPDX-License-Identifier: Apache-2.0
import RelayHub
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
    let user = try await store.write { try $0.changeProfile(of: name, change.apply) }
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
  private let values: User
  private let changed: Set<String>

  init(_ fields: Fields) throws(RequestError) {
    values = try fields.profile(of: UserID(unchecked: ""), hasAddress: true)
    changed = Set(fields.members.keys)
    if fields.has("handleType"), !fields.isNull("handleType"), values.handle == nil {
      throw fields.wrong("handleType", "needs handle")
    }
    if values.avatarSHA256 != nil, values.avatar == nil { throw fields.wrong("avatarSHA256", "needs avatar") }
  }

  func apply(_ user: inout User) {
    if changed.contains("name") { user.name = values.name }
    // The kind belongs to the handle, and the hash to the picture.
    if changed.contains("handle") { (user.handle, user.handleType) = (values.handle, values.handleType) }
    if changed.contains("avatar") { (user.avatar, user.avatarSHA256) = (values.avatar, values.avatarSHA256) }
  }
}
