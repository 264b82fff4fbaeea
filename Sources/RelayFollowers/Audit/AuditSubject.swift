// SPDX-License-Identifier: Apache-2.0
package import RelayJSON
package import RelayProtocol
import RelayRequests

/// The room, the users and the target that a request of a backend names. Pure.
package struct AuditSubject: Equatable {
  package var room: RoomID?
  /// In the order of the members, each one once.
  package var users: [UserID] = []
  package var target: String?
  /// The idempotency key.
  package var request: String?

  /// - Parameter arguments: The variables of the path.
  package init(_ fields: Fields, acting: UserID?, arguments: Set<String>, idempotencyKey: String?) {
    if case .string(let name)? = fields.members["room"] { room = RoomID(rawValue: name) }
    if let acting { users.append(acting) }
    for key in NamedMembers.users {
      for case .string(let name) in NamedMembers.values(of: key, in: fields).prefix(AuditEntry.maxUsers) {
        guard let user = UserID(rawValue: name), !users.contains(user), users.count < AuditEntry.maxUsers else {
          continue
        }
        users.append(user)
      }
    }
    for key in Self.targets where arguments.contains(key) && target == nil {
      switch fields.members[key] {
      case .string(let text), .number(let text):
        // SQLite truncates a text at NUL.
        let isFit = text.utf8.count <= AuditEntry.maxTargetLength && !text.utf8.contains(0)
        target = isFit ? text : nil
      default: break
      }
    }
    // In some paths `key` has another meaning.
    let own = arguments.contains("key") ? nil : (try? fields.idempotencyKey())
    request = [idempotencyKey, own].lazy.compactMap { $0 }.first {
      (1...IdempotencyKey.maxLength).contains($0.utf8.count)
    }
  }

  /// The variables of paths with the target. A key of a reaction and a token of a device are not among them: the former
  /// is content, and the latter a secret.
  private static let targets = ["seq", "report", "id", "device"]
}
