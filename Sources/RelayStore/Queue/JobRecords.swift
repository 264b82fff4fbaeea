// SPDX-License-Identifier: Apache-2.0
public import RelayProtocol

/// The number of messages of one room in a push.
public struct DigestCount: Equatable, Sendable, Codable {
  public var room: RoomID
  /// The newest of these messages, or the message of the job itself.
  public var seq: Int64
  public var count: Int
}

/// A stored push job, for explanations. The caller must not show or log the token.
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
  /// The end of the lease of a job in ``JobState/sending``.
  public var lease: Timestamp?
  /// The number of claims.
  public var attempts: Int
  public var created: Timestamp
  public var reasons: [String]
  public var finishedAt: Timestamp?
  /// A note about the last attempt, or about the end.
  public var note: String?
  /// 0 for the first push of the message. 1 for a Notify Anyway that was made after the first push was sent.
  public var round = 0
  public var isNotifyAnyway = false
  /// The level of the decision. Is `nil` for the level that the message requests.
  public var level: Level?
  /// The decision and its facts, as JSON. Is `nil` if only ``reasons`` are known.
  public var explanation: [UInt8]?
  /// The digest head: the job whose push contains this job's message.
  public var mergedInto: String?
  /// The contents of the push at the last attempt, with the job's own room first. Is empty if the push has only its own
  /// message.
  public var digest: [DigestCount] = []
  /// The time at which the device reported the push.
  public var received: Timestamp?
  /// The newest attempts, at most ``maxAttempts``. The last attempt is the last element.
  public var attemptLog: [PushAttempt] = []
  /// The time at which a backend last sent the dead letter again.
  public var revived: Timestamp?

  public static let maxAttempts = 20
}
