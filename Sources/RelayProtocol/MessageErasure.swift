// SPDX-License-Identifier: Apache-2.0

/// The treatment of the messages of an erased user.
public enum MessageErasure: String, Sendable, CaseIterable {
  /// The messages lose their contents, as if the sender had deleted them.
  case delete
  /// The messages stay, with a pseudonym as their sender.
  case anonymize
}
