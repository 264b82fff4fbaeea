// SPDX-License-Identifier: Apache-2.0
// The identifier of the notification about a message.
import RelayProtocol

extension CommunicationPayload {
  /// The identifier that the system gives to the push of this message, for a local notification about the same message:
  /// a request with it replaces the push. Is `nil` if the payload has no message or no recipient. With `collapse` `room`
  /// the pushes of the room have another identifier.
  public var requestIdentifier: String? {
    guard let message = replaces ?? message, let recipient else { return nil }
    return CollapseID.of(message, for: recipient)
  }
}
