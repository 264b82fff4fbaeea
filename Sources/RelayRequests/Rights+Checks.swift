// SPDX-License-Identifier: Apache-2.0
package import RelayIdentity
package import RelayProtocol

extension Rights {
  /// Throws `forbidden` if one of the needed rights is missing.
  /// - Parameter pointer: The JSON pointer of the room in the request.
  package func check(_ needed: Rights, in room: RoomID, at pointer: String) throws(RequestError) {
    let missing = needed.subtracting(self)
    guard missing.isEmpty else {
      throw RequestError(
        .forbidden, "the right \(missing.names.joined(separator: ", ")) is needed in \(room)", at: pointer)
    }
  }
}

extension Permissions {
  /// Throws `forbidden` if the token does not permit this change of the user's own account.
  package func check(_ needed: AccountRights) throws(RequestError) {
    let missing = needed.subtracting(account)
    guard missing.isEmpty else {
      throw RequestError(
        .forbidden, "the token does not allow this: its claim `account` needs \(missing.names.joined(separator: ", "))")
    }
  }
}
