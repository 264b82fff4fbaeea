// SPDX-License-Identifier: Apache-2.0
import GRDB
public import RelayProtocol

extension PeopleWriter {
  /// Stores the status of a user in place of the earlier one. Is `nil` to delete it.
  public func save(_ status: UserStatus?, of user: UserID) throws {
    let text = status.map(StoredJSON.text)
    try db.run("UPDATE users SET status = ? WHERE id = ?", [text, needRow(of: user)])
  }
}
