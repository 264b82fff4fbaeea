// SPDX-License-Identifier: Apache-2.0

/// The rule by which a push removes notifications from a phone, with the members `read` and `removed` of its payload.
package enum NotificationRemoval {
  /// Maximum number of entries of `read` and `removed` together.
  package static let maxEntries = 20

  /// True if the push removes the notification: `removed` names it, or the recipient has read all of its messages.
  /// - Parameters:
  ///   - identity: The message that names the notification. Is `nil` if the notification has no message.
  ///   - contents: The newest message of each room in the notification.
  package static func removes(
    _ identity: MessageReference?, contents: [MessageReference], read: [MessageReference], removed: [MessageReference]
  ) -> Bool {
    if let identity, removed.contains(identity) { return true }
    return !contents.isEmpty
      && contents.allSatisfy { message in read.contains { $0.room == message.room && message.seq <= $0.seq } }
  }
}
