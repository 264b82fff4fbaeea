// SPDX-License-Identifier: Apache-2.0
package import RelayProtocol

/// A use of a room by a request. Names the data that the request reads or changes, and the needs of its caller.
///
/// ``Rooms/admit(_:_:on:)`` checks the first use of a command. The table of all uses in the protocol follows from these
/// declarations.
package struct RoomUse: Sendable {
  package let scope: Scope
  /// The rights that the token of the caller must give in the room.
  package let rights: Rights
  /// The lowest role that a member of a group needs in addition. The store checks it. The right `moderate` also gives
  /// the role of a moderator.
  package let role: RoomRole?
  /// The rights of the user's newest token that a report key needs. They take the place of ``rights``.
  let reportKeyRights: Rights
  /// The data that the request reads or changes.
  package let subject: String
  /// True if the use changes nothing. Is `nil` if this follows from the command.
  package let isRead: Bool?

  package enum Scope: Sendable {
    /// A room that the session has joined. Over HTTP, the user must be a member.
    case joined
    /// A room of which the user is a member. A session need not have joined it.
    case member
    /// Any room. The caller need not be a member.
    case any
    /// A room to which the user is invited.
    case invited
    /// Rooms of the user that the request does not name. The command finds them, and checks the rights.
    case found
    /// The request uses no room.
    case noRoom
  }

  private init(
    _ scope: Scope, _ rights: Rights, role: RoomRole? = nil, reportKey: Rights? = nil, _ subject: String,
    isRead: Bool? = nil
  ) {
    self.scope = scope
    self.rights = rights
    self.role = role
    reportKeyRights = reportKey ?? rights
    self.subject = subject
    self.isRead = isRead
  }

  package static func joined(
    _ rights: Rights, role: RoomRole? = nil, _ subject: String, isRead: Bool? = nil
  ) -> RoomUse {
    RoomUse(.joined, rights, role: role, subject, isRead: isRead)
  }

  package static func member(
    _ rights: Rights, role: RoomRole? = nil, reportKey: Rights? = nil, _ subject: String
  ) -> RoomUse {
    RoomUse(.member, rights, role: role, reportKey: reportKey, subject)
  }

  package static func any(_ rights: Rights, _ subject: String, isRead: Bool? = nil) -> RoomUse {
    RoomUse(.any, rights, subject, isRead: isRead)
  }

  package static func invited(_ rights: Rights, _ subject: String) -> RoomUse {
    RoomUse(.invited, rights, subject)
  }

  package static func found(
    _ rights: Rights, reportKey: Rights? = nil, _ subject: String, isRead: Bool? = nil
  ) -> RoomUse {
    RoomUse(.found, rights, reportKey: reportKey, subject, isRead: isRead)
  }

  package static let noRoom = RoomUse(.noRoom, [], "")

  /// The rights that a caller needs.
  package func rights(for caller: Caller) -> Rights {
    if case .reporter = caller { reportKeyRights } else { rights }
  }

  /// Throws `forbidden` if the caller lacks a right.
  /// - Parameters:
  ///   - given: The rights that the caller has in the room.
  ///   - pointer: The JSON pointer of the room in the request.
  package func check(_ given: Rights, of caller: Caller, in room: RoomID, at pointer: String) throws(RequestError) {
    try given.check(rights(for: caller), in: room, at: pointer)
  }
}
