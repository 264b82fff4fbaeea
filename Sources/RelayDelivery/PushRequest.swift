// SPDX-License-Identifier: Apache-2.0
import RelayJSON
public import RelayProtocol

/// `push` of a `send`: what its sender asks of the pushes.
public struct PushRequest: Equatable, Sendable {
  /// false: nobody is pushed to, and nobody has it unread.
  public var isAsked: Bool
  public var kind: MessageKind
  /// What was asked for, whether or not the sender may.
  public var level: Level
  /// Whether the sender has the right `urgent`, without which no level is above active.
  public var isUrgentAllowed: Bool
  /// The sender's guess at a label by which a Focus filter tells pushes apart.
  public var criteria: String?
  /// For how long a push may reach its device; nil: ``lifetime(of:)``.
  public var lifetime: Duration?
  public var manner: PushManner
  /// It wakes the app, shows nothing, and nothing may depend on it.
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

  /// The first moment at which nobody is to be pushed to any more.
  public func expires(from time: Timestamp) -> Timestamp { time + (lifetime ?? Self.lifetime(of: kind)) }

  /// Unless the sender says otherwise: Apple keeps a message for 28 days at most, and nobody answers a call for longer.
  public static func lifetime(of kind: MessageKind) -> Duration {
    kind == .call ? .seconds(45) : longestLifetime
  }

  public static let longestLifetime = Duration.seconds(28 * 24 * 3600)

  /// Only in what is stored: a sender says nothing of their own rights.
  public static let urgentKey = "isUrgentAllowed"

  /// As it is stored: nil when nothing is asked, `false`, or an object of what is not as usual.
  public var json: [UInt8]? {
    guard isAsked else { return Array("false".utf8) }
    guard self != PushRequest() else { return nil }
    return JSONWriter.object {
      if kind != .message { $0["kind"] = kind.rawValue }
      if level != .active { $0["level"] = level.rawValue }
      if !isUrgentAllowed { $0.bool(Self.urgentKey, false) }
      $0["criteria"] = criteria
      $0.decimal("expires", lifetime?.seconds)
      manner.write(to: &$0)
      if isSilent { $0.bool("silent", true) }
    }
  }

  /// The parts of the request that decide, beside the level, how a push looks and sounds; nil: the defaults. Several
  /// messages become one push only if these parts are equal. A text or a picture is that of the newest message.
  public var style: [UInt8]? {
    var style = PushManner()
    style.category = manner.category
    style.collapse = manner.collapse
    style.sound = manner.sound
    style.thread = manner.thread
    style.isCommunication = manner.isCommunication
    guard criteria != nil || style != PushManner() else { return nil }
    return JSONWriter.object {
      $0["criteria"] = criteria
      style.write(to: &$0)
    }
  }
}
