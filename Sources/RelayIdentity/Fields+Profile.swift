// SPDX-License-Identifier: Apache-2.0
package import RelayJSON
package import RelayProtocol

extension Fields {
  /// Parses the members of a user's profile. An empty `handle` or `handleType` counts as absent.
  /// - Parameter hasAddress: True if the handle and the hash of the picture are read, too. Other users never see them.
  package func profile(of user: UserID, hasAddress: Bool) throws(RequestError) -> User {
    var profile = User(id: user, name: try line("name", maxLength: User.maxNameLength))
    profile.avatar = try string("avatar", maxLength: User.maxAvatarLength)
    if let avatar = profile.avatar, !avatar.isEmpty, !avatar.isSecureURL {
      throw wrong("avatar", "must be an https URL")
    }
    guard hasAddress else { return profile }
    let handle = try line("handle", maxLength: User.maxHandleLength)
    let type = try line("handleType", maxLength: User.maxHandleLength)
    if let handle, !handle.isEmpty {
      profile.handle = handle
      profile.handleType = type?.isEmpty == false ? type : nil
    }
    if let hash = try string("avatarSHA256", maxLength: 64) {
      guard hash.isSHA256 else { throw wrong("avatarSHA256", "must be 64 hexadecimal digits in lower case") }
      profile.avatarSHA256 = hash
    }
    return profile
  }
}
