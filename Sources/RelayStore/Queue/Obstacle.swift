// SPDX-License-Identifier: Apache-2.0
import GRDB
import RelayProtocol

/// The reason for which a claimed or abandoned job is not sent. The raw value is the note of the job.
enum Obstacle: String, Error {
  case noRoom = "the room was deleted"
  case noUser = "the user was erased"
  case noDevice = "no device"
  case noMessage = "no message"
  case notMember = "not a member"
  case read, deleted, answered
  case ringsNoMore = "no longer rings"

  /// The first reason against sending a job. Is `nil` if there is none.
  /// - Parameters:
  ///   - row: A row of the query of a claim.
  ///   - isDeleted: True if the push shows that its message was deleted. The stored message must have the same state.
  init?(_ row: Row, isDeleted: Bool) {
    let message: Int64? = row["message_seq"]
    // The messages of the room of notifications have recipients, but no members.
    let read: Int64? = row["read"] ?? (RoomID(unchecked: row["room_name"]).isNotifications ? 0 : nil)
    if (row["room_name"] as String).hasPrefix(Schema.deletedPrefix) {
      self = .noRoom
    } else if (row["device_id"] as String?) == nil {
      self = .noDevice
    } else if let state: Bool = row["message_is_deleted"], state != isDeleted {
      self = .deleted
    } else if let message, let read {
      if read >= message {
        self = .read
      } else if row["is_answered"] {
        self = .answered
      } else {
        return nil
      }
    } else {
      self = message == nil ? .noMessage : .notMember
    }
  }
}
