// SPDX-License-Identifier: Apache-2.0
import RelayJSON
public import RelayProtocol

/// What came of a report of a Focus.
public struct FocusOutcome: Equatable, Sendable {
  /// false: a newer report of this device was there already.
  public var isApplied: Bool
  /// Of all the user's devices together.
  public var isFocused: Bool?
  public var focusSince: Timestamp?

  public init(isApplied: Bool, isFocused: Bool? = nil, focusSince: Timestamp? = nil) {
    self.isApplied = isApplied
    self.isFocused = isFocused
    self.focusSince = focusSince
  }

  init(_ reply: JSON) {
    self.init(
      isApplied: reply["applied"]?.flag ?? false, isFocused: reply["isFocused"]?.flag,
      focusSince: reply.time("focusSince"))
  }
}

extension JSONWriter.Object {
  mutating func focus(_ report: FocusReport) {
    boolOrNull("isFocused", report.isFocused)
    self["authorization"] = report.authorization.rawValue
    self["device"] = report.device.rawValue
    integer("at", report.at?.rawValue)
    integer("number", report.number)
    self["source"] = report.source?.rawValue
  }
}
