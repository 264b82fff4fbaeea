// SPDX-License-Identifier: Apache-2.0
package import RelayIdentity
package import RelayJSON
package import RelayProtocol

/// The members of requests that name rooms and users. Pure.
///
/// The names have the same meaning in all commands. Mentions are not among them: they are a part of the message, and
/// only notify members of its room.
package enum NamedMembers {
  package static let rooms = ["room"]
  /// The members of these objects have the names of rooms.
  static let roomObjects = ["rooms"]
  package static let users = ["user", "from", "owner", "other", "users", "members"]
  /// The members with users that a request may change. `users` is not among them: `presence`, `watch` and
  /// `notifyAnyway` only select users, and the store refuses to `block` a user who is being erased.
  package static let changedUsers = users.filter { $0 != "users" }

  /// The items of a list, or the value of another member.
  package static func values(of key: String, in fields: Fields) -> [JSON] {
    switch fields.members[key] {
    case .array(let items): items
    case .some(let value): [value]
    case nil: []
    }
  }
}

extension BackendKey {
  package func check(room: String, at pointer: String?) throws(RequestError) {
    guard scope?.rights.include(room: room) == false else { return }
    throw outside("the room", at: pointer)
  }

  package func check(user: String, at pointer: String?) throws(RequestError) {
    guard scope?.rights.include(user: user) == false else { return }
    throw outside("the user", at: pointer)
  }

  /// Throws `forbidden` if the operation, or a room or a user that the request names, is outside of the scope.
  ///
  /// The log may contain the message of the error. It therefore names no user: the pointer has the position.
  package func check(_ operation: Operation, _ fields: Fields, acting: UserID?) throws(RequestError) {
    guard let rights = scope?.rights else { return }
    guard rights.include(operation: operation.name) else {
      throw outside("the operation \(operation.name)", at: nil)
    }
    var (namesRoom, namesUser) = (false, false)
    for key in NamedMembers.rooms {
      guard case .string(let room)? = fields.members[key] else { continue }
      namesRoom = namesRoom || operation.arguments.contains(key)
      try check(room: room, at: fields.pointer(to: key))
    }
    for key in NamedMembers.roomObjects {
      guard case .object(let rooms)? = fields.members[key] else { continue }
      for room in rooms.keys.sorted() { try check(room: room, at: "\(fields.pointer(to: key))/\(room)") }
    }
    if let acting { try check(user: acting.rawValue, at: "/headers/x-stillwire-user") }
    for key in NamedMembers.users {
      switch fields.members[key] {
      case .string(let user):
        namesUser = namesUser || operation.arguments.contains(key)
        try check(user: user, at: fields.pointer(to: key))
      case .array(let users):
        for (index, user) in users.enumerated() {
          guard case .string(let user) = user else { continue }
          try check(user: user, at: fields.pointer(to: "\(key)/\(index)"))
        }
      default: break
      }
    }
    if operation.reach.contains(.rooms), !namesRoom, !rights.hasAllRooms {
      throw outside("the operation \(operation.name) without a room, which concerns all rooms,", at: nil)
    }
    if operation.reach.contains(.users), !namesUser, !rights.hasAllUsers {
      throw outside("the operation \(operation.name) without a user, which concerns all users,", at: nil)
    }
  }

  private func outside(_ what: String, at pointer: String?) -> RequestError {
    RequestError(
      .forbidden, "\(what) is outside of the scope \(scope?.name ?? "") of the API key \(name)", at: pointer)
  }
}

extension Caller {
  /// The API key of a backend. Is `nil` for other callers, and in open mode.
  package var key: BackendKey? { if case .backend(_, let key) = self { key } else { nil } }
}
