// SPDX-License-Identifier: Apache-2.0
// The observable model of the choice to share the Focus. It performs the decisions of `FocusChoice` with a client.
public import Observation
import RelayJSON
import RelayProtocol
public import StillwireClient

/// The person's choice to share the Focus, as a switch observes it: the preference `shareFocus` of the relay.
@available(iOS 17, macOS 14, tvOS 17, visionOS 1, watchOS 10, *)
@MainActor @Observable public final class FocusSharing {
  /// The value of the switch.
  public private(set) var choice = FocusChoice()
  private let relay: Stillwire
  private let onShare: @MainActor @Sendable () async -> Void

  /// - Parameter onShare: Is called after the person has switched it on. Ask there for the permission to read the Focus
  ///   status: `FocusReporter.requestAuthorization()` of `StillwireApple`.
  public init(_ relay: Stillwire, onShare: @escaping @MainActor @Sendable () async -> Void = {}) {
    self.relay = relay
    self.onShare = onShare
  }

  /// The position of the switch. A change calls ``share(_:)``.
  public var isOn: Bool {
    get { choice.isOn }
    set { Task { await share(newValue) } }
  }

  /// Reads the preference from the relay.
  public func load() async { _ = choice.answered(await preference([:]), to: nil) }

  /// Shares the Focus with the people in the user's rooms, or with nobody. A failure returns the switch to its former
  /// position: ``FocusChoice/error`` has the cause.
  public func share(_ isOn: Bool) async {
    var next = choice.choose(isOn)
    while let value = next {
      let audience: Audience = value ? .rooms : .none
      next = choice.answered(await preference(["shareFocus": .string(audience.rawValue)]), to: value)
      if next == nil, value, choice.error == nil { await onShare() }
    }
  }

  /// Sends a change of the preferences. Returns true if the relay shares the Focus now.
  private func preference(_ fields: [String: JSON]) async -> Result<Bool, StillwireError> {
    do {
      guard let text = try await relay.request("preferences", fields)["shareFocus"]?.text else {
        return .failure(StillwireError(.malformed, "the reply has no shareFocus"))
      }
      return .success(text != Audience.none.rawValue)
    } catch {
      return .failure(StillwireError(any: error))
    }
  }
}
