// SPDX-License-Identifier: Apache-2.0
package import RelayJSON
public import RelayProtocol

/// The result of a Focus report.
public struct FocusOutcome: Equatable, Sendable {
  /// The Focus of all devices of the user together. Is `nil` if it is unknown.
  public var isFocused: Bool?
  public var focusSince: Timestamp?

  public init(isFocused: Bool? = nil, focusSince: Timestamp? = nil) {
    self.isFocused = isFocused
    self.focusSince = focusSince
  }

  package init(_ reply: JSON) {
    self.init(isFocused: reply["isFocused"]?.flag, focusSince: reply.time("focusSince"))
  }
}

extension JSONWriter.Object {
  package mutating func focus(_ report: FocusReport) {
    boolOrNull("isFocused", report.isFocused)
    self["authorization"] = report.authorization.rawValue
    self["device"] = report.device.rawValue
    integer("at", report.at?.rawValue)
    integer("number", report.number)
    self["source"] = report.source?.rawValue
  }
}
