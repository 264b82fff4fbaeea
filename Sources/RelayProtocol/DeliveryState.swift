// SPDX-License-Identifier: Apache-2.0

/// The state of a message for one recipient, as the `delivery` event reports it to a sender who asked for reports.
public enum DeliveryState: String, Sendable, CaseIterable {
  /// The recipient has read the message, or an active session has received it.
  case received
  /// The gateway accepted a push. If the recipient hides something from the sender, the state says nothing certain: see
  /// the tables in the article "Delivery".
  case pushed
  /// The app's extension reported that the push arrived.
  case onPhone
  /// No push service accepted the push.
  case failed
}
