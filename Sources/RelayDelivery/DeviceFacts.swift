// SPDX-License-Identifier: Apache-2.0
public import RelayProtocol

/// A registered device: what it and its app allow, and what it said of its own Focus.
public struct DeviceFacts: Equatable, Sendable, Codable {
  /// false: it said that alerts are off for the app.
  public var allowsAlerts: Bool
  public var hasVoIPToken: Bool
  /// True if the device has a VoIP token that the relay does not use, because the app has no entitlement for VoIP. Is
  /// absent in facts that an older relay stored.
  public var lacksVoIPEntitlement: Bool?
  /// false: it said that they are off for the app, or the app has no entitlement for them.
  public var allowsTimeSensitive: Bool
  /// false: the app has no entitlement for them.
  public var allowsCritical: Bool
  /// The first moment at which its own `isFocused: true` counts no more by itself; nil, or past: it counts not.
  public var focusedUntil: Timestamp?
  /// Who told of its Focus last, for explanations only; nil: it did not say.
  public var focusSource: FocusSource?
  /// nil: none is active.
  public var filter: FilterFacts?
  /// The label of the account on the device.
  public var criteria: String?

  public init(
    allowsAlerts: Bool = true, hasVoIPToken: Bool = false, allowsTimeSensitive: Bool = true,
    allowsCritical: Bool = true, focusedUntil: Timestamp? = nil, focusSource: FocusSource? = nil,
    filter: FilterFacts? = nil, criteria: String? = nil, lacksVoIPEntitlement: Bool = false
  ) {
    self.allowsAlerts = allowsAlerts
    self.hasVoIPToken = hasVoIPToken
    self.allowsTimeSensitive = allowsTimeSensitive
    self.allowsCritical = allowsCritical
    self.focusedUntil = focusedUntil
    self.focusSource = focusSource
    self.filter = filter
    self.criteria = criteria
    self.lacksVoIPEntitlement = lacksVoIPEntitlement ? true : nil
  }
}

/// The filter of a device's Focus.
public struct FilterFacts: Equatable, Sendable, Codable {
  /// The criteria that it lets through.
  public var allow: [String]
  /// The first moment at which it counts no more by itself.
  public var until: Timestamp

  public init(allow: [String], until: Timestamp) {
    self.allow = allow
    self.until = until
  }

  /// Whether it lets a push through: what has no criteria passes every filter.
  public func passes(_ criteria: String?) -> Bool { criteria.map(allow.contains) ?? true }
}
