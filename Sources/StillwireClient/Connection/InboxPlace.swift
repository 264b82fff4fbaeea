// SPDX-License-Identifier: Apache-2.0
import RelayJSON

/// The position up to which the client has all changes of its list of rooms. After a reconnect, `hello` names it, and
/// the relay sends the missed changes as events.
struct InboxPlace {
  private var position: String?

  /// Returns the member `inbox` of the next `hello`.
  /// - Parameter wanted: The member that the app has configured.
  func hello(_ wanted: JSON?) -> JSON? {
    guard let wanted, let position else { return wanted }
    switch wanted {
    case .bool(true): return .object(["since": .string(position)])
    case .object(var members):
      members["since"] = .string(position)
      return .object(members)
    default: return wanted
    }
  }

  /// Records a welcome. Returns the frame `inbox` for the app if it must list its rooms again.
  mutating func welcomed(_ welcome: Frame) -> Frame? {
    guard let inbox = welcome["inbox"], let position = inbox["position"] else { return nil }
    self.position = position.text
    guard inbox["reset"]?.flag == true else { return nil }
    return Frame(["type": "inbox", "event": "reset", "position": position])
  }

  /// Records an event `inbox`.
  mutating func received(_ event: Frame) { position = event["position"]?.text ?? position }
}
