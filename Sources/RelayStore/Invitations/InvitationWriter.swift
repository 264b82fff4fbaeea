// SPDX-License-Identifier: Apache-2.0
import GRDB
public import RelayProtocol

/// Stores invitations, and ends them.
///
/// A user who has blocked the inviter gets a hidden invitation. The inviter sees it like any other, and the user sees
/// nothing of it. If somebody else invites the user later, the user gets a second invitation, which the user sees.
/// Moderators and inviters see only the first of the two.
public struct InvitationWriter: TransactionPart {
  let transaction: Transaction

  /// The maximum number of open invitations of a room.
  public static let maxOfRoom = 1_000
  /// The time after which an invitation ends if nobody has used the name of the user.
  public static let lifetime = Duration.seconds(7 * 86_400)
  /// The maximum number of invitations that one transaction ends because of their age, or because of a lower limit.
  public static let maxSlice = 64

  // MARK: Making

  /// Invites a user to a room. Has no effect if the user sees an invitation already, or if the new invitation is hidden
  /// and the user has a hidden one.
  ///
  /// Throws ``StoreError/tooMany(_:)`` and ``StoreError/beingErased``.
  /// - Parameter limit: The maximum number of open invitations of a user; 0 means no limit.
  func invite(
    _ user: UserID, to room: WriterCache.Room, by inviter: UserID, isHidden: Bool, limit: Int,
    _ changes: inout InvitationChanges
  ) throws {
    try transaction.checkIsNotErased(user)
    let known = try all(of: user, in: room.id)
    guard known.isEmpty || !isHidden && known.allSatisfy(\.isHidden) else { return }
    let isUsed = try transaction.isUsed(user)
    try db.run(
      """
      INSERT INTO invitations (room, user, inviter, time, seq, is_hidden, expires, is_undecided)
      VALUES (?, ?, ?, ?, ?, ?, ?, ?)
      """,
      [
        room.id, user.rawValue, try needRow(of: inviter), now.rawValue, room.seq, isHidden,
        isUsed ? nil : (transaction.steplessNow + Self.lifetime).rawValue, isUsed && !isHidden,
      ])
    let id = db.lastInsertedRowID
    let count: Int = try db.first("SELECT count(DISTINCT user) FROM invitations WHERE room = ?", [room.id])?[0] ?? 0
    if count > Self.maxOfRoom { throw StoreError.tooMany(.invitedUsers) }
    changes.made.append(
      InvitationChanges.Made(
        user: user, invitation: isHidden ? nil : try reader.invitations.invitation(id), isFirst: known.isEmpty))
    if limit > 0 { try endOldest(of: user, isHidden: isHidden, limit: limit, &changes) }
  }

  /// Ends the oldest invitations of a user beyond the limit. Those that the user does not see have the same limit.
  private func endOldest(
    of user: UserID, isHidden: Bool, limit: Int, _ changes: inout InvitationChanges
  ) throws {
    let oldest = try db.all(
      """
      \(Open.query) WHERE invitations.user = ? AND is_hidden = ? AND NOT (\(Schema.isDeleted("rooms.name")))
      ORDER BY invitations.id DESC LIMIT \(Self.maxSlice) OFFSET ?
      """,
      [user.rawValue, isHidden, limit], Open.init(_:))
    for invitation in oldest { try end(invitation, .replaced, &changes) }
  }

  // MARK: Ending

  /// Ends an invitation because its user refuses it. Has no effect on an invitation that the user does not see.
  public func decline(_ room: RoomID, by user: UserID) throws -> InvitationChanges {
    var changes = InvitationChanges()
    guard let known = try row(of: room) else { return changes }
    let open = try all(of: user, in: known.id)
    guard open.contains(where: { !$0.isHidden }) else { return changes }
    for invitation in open { try end(invitation, .declined, &changes) }
    return changes
  }

  /// Ends an invitation because the inviter withdraws it. Has no effect on an invitation by another user.
  public func withdraw(_ user: UserID, from room: RoomID, by inviter: UserID) throws -> InvitationChanges {
    var changes = InvitationChanges()
    guard let known = try row(of: room) else { return changes }
    let open = try all(of: user, in: known.id)
    guard let first = open.first, first.inviter == (try row(of: inviter)) else { return changes }
    for invitation in open { try end(invitation, .withdrawn, &changes) }
    return changes
  }

  /// Ends the invitation of a user to a room, if there is one. The caller has checked the rights.
  func withdraw(_ user: UserID, from room: WriterCache.Room, _ changes: inout InvitationChanges) throws {
    for invitation in try all(of: user, in: room.id) { try end(invitation, .withdrawn, &changes) }
  }

  /// Ends the invitation of a user who becomes a member of the room.
  /// - Returns: The seq up to which the new member has read the room. Is `nil` without an invitation that the user sees.
  func joined(_ user: UserID, _ room: WriterCache.Room, _ changes: inout InvitationChanges) throws -> Int64? {
    let open = try all(of: user, in: room.id)
    for invitation in open { try end(invitation, .accepted, &changes) }
    return open.first { !$0.isHidden }.map { min($0.seq, room.seq) }
  }

  /// Hides all invitations that `inviter` has made to `user`, because `user` blocks `inviter`. The user gets the event of
  /// their end. The inviter sees no change.
  public func hide(from user: UserID, by inviter: UserID, limit: Int) throws -> InvitationChanges {
    var changes = InvitationChanges()
    guard let id = try row(of: inviter) else { return changes }
    let found = try db.all(
      """
      \(Open.query) WHERE invitations.user = ? AND is_hidden = 0 AND inviter = ?
        AND NOT (\(Schema.isDeleted("rooms.name")))
      """,
      [user.rawValue, id], Open.init(_:))
    guard !found.isEmpty else { return changes }
    for invitation in found {
      try db.run(
        "UPDATE OR IGNORE invitations SET is_hidden = 1, is_undecided = 0, push = NULL WHERE id = ?", [invitation.id])
      // An earlier hidden invitation to the room stays in its place.
      if db.changesCount == 0 { try db.run("DELETE FROM invitations WHERE id = ?", [invitation.id]) }
      try endPush(of: invitation)
      changes.ended.append(invitation.ended(.blocked))
    }
    if limit > 0 { try endOldest(of: user, isHidden: true, limit: limit, &changes) }
    return changes
  }

  /// Ends the invitations of users whose names nobody has used for ``lifetime``, at most ``maxSlice``.
  /// - Returns: The changes, and true if more may be due.
  public func expire() throws -> (changes: InvitationChanges, more: Bool) {
    var changes = InvitationChanges()
    let due = try db.all(
      """
      \(Open.query) WHERE invitations.id IN (
        SELECT id FROM invitations INDEXED BY invitations_expires WHERE expires <= ? ORDER BY expires LIMIT ?)
      """,
      [transaction.unlessWaiting(transaction.steplessNow).rawValue, Self.maxSlice], Open.init(_:))
    for invitation in due { try end(invitation, .expired, &changes) }
    return (changes, due.count == Self.maxSlice)
  }

  /// Ends the invitations that a user who is being erased has got or made, at most `limit`.
  /// - Parameter row: The row of the user, which has a pseudonym already.
  /// - Returns: True if more may follow.
  func erase(_ user: UserID, row: Int64, limit: Int, _ changes: inout InvitationChanges) throws -> Bool {
    let found = try db.all(
      "\(Open.query) WHERE invitations.user = ? OR inviter = ? LIMIT ?", [user.rawValue, row, limit], Open.init(_:))
    for invitation in found { try end(invitation, .withdrawn, &changes) }
    return found.count == limit
  }

  /// Deletes the rows of a deleted room, at most `limit`.
  /// - Returns: The number of deleted rows.
  func sweep(_ room: Int64, limit: Int) throws -> Int {
    let found = try db.all("\(Open.query) WHERE invitations.room = ? LIMIT ?", [room, limit], Open.init(_:))
    for invitation in found {
      try db.run("DELETE FROM invitations WHERE id = ?", [invitation.id])
      try endPush(of: invitation)
    }
    return found.count
  }

  /// A user has a row now: the invitations do not end by their age any more.
  func userIsKnown(_ user: UserID) throws {
    try db.run("UPDATE invitations SET expires = NULL WHERE user = ? AND expires IS NOT NULL", [user.rawValue])
  }

  // MARK: Pushes

  /// Stores the decision about the push of an invitation.
  /// - Parameters:
  ///   - draft: The push as a notification of the user. Is `nil` if there is none.
  ///   - epoch: The epoch of the room of the user's notifications, if this is the first one.
  /// - Returns: False if the invitation has ended, or its push is decided already.
  public func decide(_ id: Int64, posting draft: MessageDraft?, epoch: @autoclosure () -> String) throws -> Bool {
    guard let known = try db.first("SELECT room, user FROM invitations WHERE id = ? AND is_undecided", [id])
    else { return false }
    var seq: Int64?
    if let draft {
      let posted = try transaction.messages.post(draft, epoch: epoch()).stored
      seq = posted.seq
      // The removal of an earlier notification with this identity must not remove the new one.
      try transaction.updates.forgetRemovals(
        of: UserID(unchecked: known["user"]), ofInvitationTo: known["room"], seq: Self.pushedSeq)
      // The identity of the notification has the room of the invitation, so that a later push can remove it.
      try db.run(
        """
        UPDATE jobs SET collapse_room = ?, collapse_seq = \(Self.pushedSeq)
        WHERE kind = 'push' AND room = (SELECT id FROM rooms WHERE name = ?) AND seq = ?
        """,
        [known["room"] as Int64, draft.room.rawValue, posted.seq])
    }
    try db.run("UPDATE invitations SET is_undecided = 0, push = ? WHERE id = ?", [seq, id])
    return true
  }

  /// The seq by which a phone knows the notification of an invitation. No message has it.
  static let pushedSeq = 0

  // MARK: Rows

  /// An invitation that has not ended.
  private struct Open {
    let id: Int64
    let user: UserID
    let room: RoomID
    let inviter: Int64
    let seq: Int64
    let isHidden: Bool
    let push: Int64?

    static let query = """
      SELECT invitations.id, invitations.user, rooms.name AS room, inviter, invitations.seq, is_hidden, push
      FROM invitations JOIN rooms ON rooms.id = invitations.room
      """

    init(_ row: Row) {
      id = row["id"]
      user = UserID(unchecked: row["user"])
      room = RoomID(unchecked: row["room"])
      inviter = row["inviter"]
      seq = row["seq"]
      isHidden = row["is_hidden"]
      push = row["push"]
    }

    func ended(_ cause: InvitationEnd) -> EndedInvitation {
      EndedInvitation(user: user, room: room, cause: cause, isHidden: isHidden)
    }
  }

  /// The invitations of a user to a room: none, one, or a hidden one and a later one that the user sees.
  private func all(of user: UserID, in room: Int64) throws -> [Open] {
    try db.all(
      "\(Open.query) WHERE invitations.room = ? AND invitations.user = ? ORDER BY invitations.id",
      [room, user.rawValue], Open.init(_:))
  }

  private func end(
    _ invitation: Open, _ cause: InvitationEnd, _ changes: inout InvitationChanges
  ) throws {
    try db.run("DELETE FROM invitations WHERE id = ?", [invitation.id])
    try endPush(of: invitation)
    let isDeleted = invitation.room.rawValue.hasPrefix(Schema.deletedPrefix)
    guard !isDeleted else { return }
    changes.ended.append(invitation.ended(cause))
    if cause != .accepted, try transaction.rooms.deleteIfAbandoned(invitation.room) {
      changes.deletedRooms.append(invitation.room)
    }
  }

  /// Cancels the push of an invitation, and removes its notification.
  private func endPush(of invitation: Open) throws {
    guard let push = invitation.push, let user = try row(of: invitation.user),
      let room = try row(of: RoomID.notifications(of: invitation.user))
    else { return }
    try transaction.updates.invitationEnded(room.id, push, of: user)
  }
}
