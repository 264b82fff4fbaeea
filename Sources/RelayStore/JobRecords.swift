// SPDX-License-Identifier: Apache-2.0
public import RelayProtocol

/// A push to one device that is to be made.
public struct JobDraft: Equatable, Sendable {
  public var user: UserID
  public var device: DeviceID
  public var token: String
  public var platform: Platform
  /// Not before this time.
  public var due: Timestamp
  /// Why it is made, for explanations.
  public var reasons: [String]

  public init(
    user: UserID, device: DeviceID, token: String, platform: Platform, due: Timestamp, reasons: [String] = []
  ) {
    self.user = user
    self.device = device
    self.token = token
    self.platform = platform
    self.due = due
    self.reasons = reasons
  }
}

/// Where a push job stands.
public enum JobState: String, Sendable, CaseIterable {
  /// To be pushed when its time has come.
  case waiting
  case ready
  /// Claimed, under a lease.
  case sending
  /// A gateway could not take it; again when its time has come.
  case retrying
  case sent, cancelled, expired, dead
}

/// How a push job ends.
public enum FinishedState: String, Sendable, CaseIterable {
  case sent, cancelled, expired, dead
}

/// A job that is to be sent now, with all that its payload is made of.
public struct Claim: Equatable, Sendable {
  /// A lower-case UUID, the same at every attempt.
  public var id: String
  /// How often it was claimed, this time included.
  public var attempts: Int
  public var room: RoomID
  public var epoch: String
  public var message: StoredMessage
  public var sender: User
  public var recipient: UserID
  /// As it is registered now.
  public var device: Device
  public var created: Timestamp
  public var roomMemberCount: Int
  /// The recipient's unread messages, over all their rooms.
  public var unread: Int

  public init(
    id: String, attempts: Int, room: RoomID, epoch: String, message: StoredMessage, sender: User, recipient: UserID,
    device: Device, created: Timestamp, roomMemberCount: Int, unread: Int
  ) {
    self.id = id
    self.attempts = attempts
    self.room = room
    self.epoch = epoch
    self.message = message
    self.sender = sender
    self.recipient = recipient
    self.device = device
    self.created = created
    self.roomMemberCount = roomMemberCount
    self.unread = unread
  }
}

/// A push job as it is stored, for explanations. Its token must not be shown or logged.
public struct JobRecord: Equatable, Sendable {
  public var id: String
  public var room: RoomID
  public var seq: Int64
  public var user: UserID
  public var device: DeviceID
  public var platform: Platform
  public var token: String
  public var state: JobState
  public var due: Timestamp
  /// Until when a job in `sending` belongs to who claimed it.
  public var lease: Timestamp?
  public var attempts: Int
  public var created: Timestamp
  public var reasons: [String]
  public var finishedAt: Timestamp?
  /// What the last attempt, or the end, was about.
  public var note: String?
}
