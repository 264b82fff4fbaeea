// SPDX-License-Identifier: Apache-2.0
import RelayDelivery
package import RelayHub
package import RelayIdentity
package import RelayProtocol
package import RelayRequests
import RelayStore

/// The rights of a user's newest token, which decide about pushes and about report keys.
extension People {
  /// Stores the rights of a user's newest token, and stops pushes from rooms in which it does not give `join`.
  ///
  /// The relay pushes no messages of the withdrawn rooms to the user until a later token gives the right again. The
  /// memberships stay, because another token of the same user may have fewer rights on purpose.
  /// - Parameter withdrawn: The result of ``Access/withdrawnRooms(_:of:on:)``.
  package func note(
    _ permissions: Permissions, withdrawing withdrawn: Set<RoomID>, of user: UserHandle, on core: isolated Core
  ) {
    guard let name = core.hub.name(of: user) else { return }
    if !core.settings.isOpen { saveGrants(permissions, of: name, on: core) }
    var recipient = recipients[user]
    guard recipient.withdrawn != withdrawn else { return }
    recipient.withdrawn = withdrawn
    // In memory the rights apply at once. A full disk delays the write, but not the session.
    late.save(.withdrawn(name), on: core) {
      try $0.people.withdraw(from: withdrawn, name)
      try $0.people.noteChange(of: name)
    }
    noteChange(of: name)
    show(recipient, of: user, on: core)
    core.publish(.person(name))
  }

  /// Stores the rights of a token that registers a device over HTTP. The report key of the device uses them.
  package func noteGrants(of caller: Caller, on core: isolated Core) {
    guard !core.settings.isOpen, case .user(let identity) = caller else { return }
    saveGrants(identity.permissions, of: identity.id, on: core)
  }

  private func saveGrants(_ permissions: Permissions, of user: UserID, on core: isolated Core) {
    let grants = permissions.grants?.json
    late.save(.grants(user), on: core) { try $0.people.save(grants: grants, of: user) }
  }
}
