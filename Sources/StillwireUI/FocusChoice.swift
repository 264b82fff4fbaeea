// SPDX-License-Identifier: Apache-2.0
// The person's choice to share the Focus, between a switch and the relay. Has no dependency on SwiftUI.
public import StillwireClient

/// The choice to share the Focus: the value that the relay has, and the value that the person wants.
///
/// A switch shows the wanted value immediately. If the relay refuses it, the switch returns.
public struct FocusChoice: Equatable, Sendable {
  /// The value that the relay has. Is `nil` until it has answered.
  public private(set) var stored: Bool?
  /// The value of the request that is on its way.
  public private(set) var wanted: Bool?
  /// The error of the last request.
  public private(set) var error: StillwireError?

  public init() {}

  /// The position of the switch.
  public var isOn: Bool { wanted ?? stored ?? false }
  /// True if the person can move the switch.
  public var isKnown: Bool { stored != nil }

  /// Returns the value to send, or `nil` if the relay has it, or if a request is on its way.
  mutating func choose(_ value: Bool) -> Bool? {
    let isFree = wanted == nil
    error = nil
    wanted = value
    guard isFree else { return nil }
    if stored == value { wanted = nil }
    return wanted
  }

  /// Takes the relay's answer. Returns a value to send, if the person has chosen again meanwhile.
  /// - Parameters:
  ///   - result: The value that the relay has now.
  ///   - sent: The value of the request. Is `nil` if it only read the value.
  mutating func answered(_ result: Result<Bool, StillwireError>, to sent: Bool?) -> Bool? {
    switch result {
    case .success(let value):
      stored = value
      error = nil
      guard let sent else { return nil }
      // An answer with another value ends the attempt, so that the switch cannot send for ever.
      if wanted == sent || wanted == value { wanted = nil }
      return wanted
    case .failure(let failure):
      error = failure
      if sent != nil { wanted = nil }
      return nil
    }
  }
}
