// SPDX-License-Identifier: Apache-2.0

/// The state of a message for one recipient, as the `delivery` event reports it to a sender who asked for reports.
public enum DeliveryState: String, Sendable, CaseIterable {
  /// The recipient has read the message, or an active session has received it.
  case received
  /// The relay handed a push to the gateway. For a recipient who hides something from the sender: it might have.
  case pushed
  /// The app's extension reported the arrival of the push.
  case onPhone
  case failed
}
