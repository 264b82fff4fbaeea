// SPDX-License-Identifier: Apache-2.0

/// The push that the sender of a message requests: the member `push` of a `send`.
public struct PushRequest: Hashable, Sendable {
  /// False if the relay pushes the message to nobody and never counts it as unread.
  public var isAsked: Bool
  public var kind: MessageKind
  /// The requested level, even if the sender has no right to it.
  public var level: Level
  /// True if the sender has the right `urgent`. Without it the relay lowers a level above active.
  public var isUrgentAllowed: Bool
  /// The sender's guess at the label by which a recipient's Focus filter selects pushes.
  public var criteria: String?
  /// The time within which the push must be sent. Is `nil` for ``lifetime(of:)``.
  public var lifetime: Duration?
  public var style: PushStyle {
    get { ownStyle ?? PushStyle() }
    set { ownStyle = newValue == PushStyle() ? nil : newValue }
  }
  /// Is `nil` for the standard look and sound.
  @Rare private var ownStyle: PushStyle?
  /// True if the push wakes the app and shows nothing. An app must not depend on such a push, because Apple may drop
  /// it.
  public var isSilent: Bool

  public init(
    isAsked: Bool = true, kind: MessageKind = .message, level: Level = .active, isUrgentAllowed: Bool = true,
    criteria: String? = nil, lifetime: Duration? = nil, style: PushStyle? = nil,
    isSilent: Bool = false
  ) {
    self.isAsked = isAsked
    self.kind = kind
    self.level = level
    self.isUrgentAllowed = isUrgentAllowed
    self.criteria = criteria
    self.lifetime = lifetime
    self.isSilent = isSilent
    if let style { self.style = style }
  }

  /// The level to which the sender has a right.
  public var allowedLevel: Level { isUrgentAllowed ? level : min(level, .active) }

  /// The time from which the message is no longer pushed.
  public func expires(from time: Timestamp) -> Timestamp { time + (lifetime ?? Self.lifetime(of: kind)) }

  /// The lifetime if the sender requests none. Apple keeps a push for at most 28 days. A call rings for 45 s.
  public static func lifetime(of kind: MessageKind) -> Duration {
    kind == .call ? .seconds(45) : maxLifetime
  }

  public static let maxLifetime = Duration.seconds(28 * 24 * 3600)

  /// The properties, beside the level, that decide how a push looks and sounds. The relay merges several messages into
  /// one push only if these are equal. The texts and the picture are those of the newest message.
  public var look: Look {
    Look(
      criteria: criteria, category: style.category, collapse: style.collapse, sound: style.sound,
      thread: style.thread, isCommunication: style.isCommunication)
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

/// The kind of a message.
public enum MessageKind: String, Sendable, CaseIterable, Codable {
  case message
  /// The push rings on every device at once. It does not wait until a session may have received the message.
  case call
  /// The relay notifies a user whom another one has invited to a room. No sender can request it.
  case invitation

  /// The kinds that a sender may request.
  public enum Requested: String, Sendable, CaseIterable {
    case message, call

    public var kind: MessageKind {
      switch self {
      case .message: .message
      case .call: .call
      }
    }
  }
}
