// SPDX-License-Identifier: Apache-2.0

/// The label by which a Focus filter tells pushes apart: `filter-criteria` of the payload.
public enum Criteria {
  /// Whose label counts. It is the recipient's business, so the sender's guess comes last.
  ///
  /// - Parameters:
  ///   - room: The recipient's own label of the room.
  ///   - device: The label of the account on the device.
  ///   - sender: What the sender named.
  public static func of(room: String?, device: String?, sender: String?) -> String? { room ?? device ?? sender }
}
