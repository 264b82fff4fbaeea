// SPDX-License-Identifier: Apache-2.0
import GRDB
public import RelayProtocol

extension Transaction {
  /// Stores what one device of the user says now, in place of what it said before.
  public func save(_ focus: FocusRecord, of user: UserID) throws {
    try db.run(
      """
      INSERT OR REPLACE INTO focus (user, device, is_focused, authorization, at, number, source, heard)
      VALUES (?, ?, ?, ?, ?, ?, ?, ?)
      """,
      [
        needRow(of: user), focus.device.rawValue, focus.isFocused, focus.authorization.rawValue, focus.at.rawValue,
        focus.number, focus.source?.rawValue, focus.heard.rawValue,
      ])
  }
}
