// SPDX-License-Identifier: Apache-2.0
public import RelayProtocol

/// A push to one device that is to be made.
public struct JobDraft: Equatable, Sendable {
  public var user: UserID
  public var device: DeviceID
  public var token: String
  public var platform: Platform
  public var state: State
  /// Not before this time; of a job that is held, when it is decided again, at most ``longestHold`` from now.
  public var due: Timestamp
  /// The first moment at which its message is not told of any more; nil: it always is.
  public var expires: Timestamp?
  /// How much it may disturb, as it was decided; nil: as the message says.
  public var level: String?
  /// Why it is made, for explanations.
  public var reasons: [String]
  /// The same at length, as JSON: the decision and its facts.
  public var explanation: [UInt8]?
  /// The sender wants the recipient notified in spite of their Focus; see ``Transaction/insert(_:room:seq:)``.
  public var isNotifyAnyway: Bool
  /// It wakes the app and shows nothing: no job is made, but an update, see ``UpdateKind/silent``.
  public var isSilent: Bool

  /// How a job begins.
  public enum State: Equatable, Sendable {
    /// To be pushed when it is due; ``JobState/waiting`` until then, and then with what else could not go out at once.
    case ready
    /// To be decided again when it is due, or when what silences the device ends.
    case held
  }

  public init(
    user: UserID, device: DeviceID, token: String, platform: Platform, state: State = .ready, due: Timestamp,
    expires: Timestamp? = nil, level: String? = nil, reasons: [String] = [], explanation: [UInt8]? = nil,
    isNotifyAnyway: Bool = false, isSilent: Bool = false
  ) {
    self.user = user
    self.device = device
    self.token = token
    self.platform = platform
    self.state = state
    self.due = due
    self.expires = expires
    self.level = level
    self.reasons = reasons
    self.explanation = explanation
    self.isNotifyAnyway = isNotifyAnyway
    self.isSilent = isSilent
  }

  /// Whatever is asked for, a hold is asked again after this time, so that none is for ever.
  public static let longestHold = Duration.seconds(12 * 3600)
}

/// How many messages of a room a push tells of.
public struct DigestCount: Equatable, Sendable, Codable {
  public var room: RoomID
  /// The newest of them, or that of the job itself.
  public var seq: Int64
  public var count: Int

  public init(room: RoomID, seq: Int64, count: Int) {
    self.room = room
    self.seq = seq
    self.count = count
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
  /// How often it was claimed to be sent.
  public var attempts: Int
  public var created: Timestamp
  public var reasons: [String]
  public var finishedAt: Timestamp?
  /// What the last attempt, or the end, was about.
  public var note: String?
  /// 1: a Notify Anyway, made when the first push of the message had left.
  public var round = 0
  public var isNotifyAnyway = false
  /// As it was decided; nil: as the message says.
  public var level: String?
  /// JSON: the decision and its facts; nil where only ``reasons`` are known.
  public var explanation: [UInt8]?
  /// The job whose push tells of this one's message.
  public var mergedInto: String?
  /// What the push told at the last attempt, the job's own room first; empty: its own message alone.
  public var digest: [DigestCount] = []
  /// When the device said that the push arrived.
  public var received: Timestamp?
  /// What services said, the last attempt last; at most ``mostAttempts``, the newest.
  public var attemptLog: [PushAttempt] = []
  /// When it was last taken up again after it was dead.
  public var revived: Timestamp?

  public static let mostAttempts = 20
}
