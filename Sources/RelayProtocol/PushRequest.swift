// SPDX-License-Identifier: Apache-2.0

/// The push that the sender of a message requests: the member `push` of a `send`.
public struct PushRequest: Hashable, Sendable {
  /// False if nobody is pushed to, and the message never counts as unread.
  public var isAsked: Bool
  public var kind: MessageKind
  /// The requested level, whether or not the sender may use it.
  public var level: Level
  /// True if the sender has the right `urgent`. Without it no level is above active.
  public var isUrgentAllowed: Bool
  /// The sender's guess at a label by which a Focus filter selects pushes.
  public var criteria: String?
  /// The time in which a push may reach its device. Is `nil` for ``lifetime(of:)``.
  public var lifetime: Duration?
  public var manner: PushManner
  /// The push wakes the app and shows nothing. Nothing may depend on it.
  public var isSilent: Bool

  public init(
    isAsked: Bool = true, kind: MessageKind = .message, level: Level = .active, isUrgentAllowed: Bool = true,
    criteria: String? = nil, lifetime: Duration? = nil, manner: PushManner = PushManner(),
    isSilent: Bool = false
  ) {
    self.isAsked = isAsked
    self.kind = kind
    self.level = level
    self.isUrgentAllowed = isUrgentAllowed
    self.criteria = criteria
    self.lifetime = lifetime
    self.manner = manner
    self.isSilent = isSilent
  }

  /// The first moment at which the message is not pushed any more.
  public func expires(from time: Timestamp) -> Timestamp { time + (lifetime ?? Self.lifetime(of: kind)) }

  /// The lifetime that applies if the sender requests none. Apple keeps a message for 28 days at most. A call rings for
  /// 45 s.
  public static func lifetime(of kind: MessageKind) -> Duration {
    kind == .call ? .seconds(45) : longestLifetime
  }

  public static let longestLifetime = Duration.seconds(28 * 24 * 3600)

  /// The parts of the request that decide, beside the level, how a push looks and sounds. Several messages become one
  /// push only if these parts are equal. A text or a picture is that of the newest message.
  public var look: Look {
    Look(
      criteria: criteria, category: manner.category, collapse: manner.collapse, sound: manner.sound,
      thread: manner.thread, isCommunication: manner.isCommunication)
  }

  public struct Look: Hashable, Sendable {
    let criteria: String?
    let category: CategoryID?
    let collapse: CollapseScope
    let sound: PushSound
    let thread: PushThread
    let isCommunication: Bool?
  }
}

/// The kind of a message, which its sender requests.
public enum MessageKind: String, Sendable, CaseIterable, Codable {
  case message
  /// The push rings on every device at once, and waits for no session.
  case call
}
