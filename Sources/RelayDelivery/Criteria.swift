// SPDX-License-Identifier: Apache-2.0

/// The label that a Focus filter matches: `filter-criteria` of the payload.
public enum Criteria {
  /// Returns the label that applies. The recipient's labels take precedence over the label that the sender chose.
  ///
  /// - Parameters:
  ///   - room: The recipient's own label of the room.
  ///   - device: The label of the account on the device.
  ///   - sender: The label that the sender chose.
  public static func of(room: String?, device: String?, sender: String?) -> String? { room ?? device ?? sender }
}
