// SPDX-License-Identifier: Apache-2.0
import GRDB
public import RelayProtocol

extension PeopleWriter {
  /// Stores the newest focus report of one device. It replaces the earlier report.
  public func save(_ focus: FocusRecord, of user: UserID) throws {
    try save([focus], of: user)
  }

  /// Stores the newest focus reports of devices.
  public func save(_ focus: [FocusRecord], of user: UserID) throws {
    guard !focus.isEmpty else { return }
    let (name, user) = (user, try needRow(of: user))
    for record in focus {
      try db.run(
        """
        INSERT OR REPLACE INTO focus
          (user, device, is_focused, authorization, at, number, source, received, since, settles, steps)
        VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
        """,
        [
          user, record.device.rawValue, record.isFocused, record.authorization.rawValue, record.at.rawValue,
          record.number, record.source?.rawValue, record.received.rawValue, record.since?.rawValue,
          record.settles?.rawValue, record.steps.milliseconds,
        ])
    }
    if focus.count == 1 { try transaction.updates.alive(focus[0].device, of: name) }
  }

  /// Deletes a device's focus report.
  public func forgetFocus(of device: DeviceID, of user: UserID) throws {
    try db.run("DELETE FROM focus WHERE user = ? AND device = ?", [needRow(of: user), device.rawValue])
  }

  /// Deletes a device's filter report.
  public func forgetFilter(of device: DeviceID, of user: UserID) throws {
    try db.run("DELETE FROM filters WHERE user = ? AND device = ?", [needRow(of: user), device.rawValue])
  }

  /// Stores the newest filter report of one device. It replaces the earlier report.
  public func save(_ filter: FilterRecord, of user: UserID) throws {
    try save([filter], of: user)
  }

  /// Stores the newest filter reports of devices.
  public func save(_ filters: [FilterRecord], of user: UserID) throws {
    guard !filters.isEmpty else { return }
    let (name, user) = (user, try needRow(of: user))
    for record in filters {
      try db.run(
        """
        INSERT OR REPLACE INTO filters (user, device, is_active, allow, at, number, received, steps)
        VALUES (?, ?, ?, ?, ?, ?, ?, ?)
        """,
        [
          user, record.device.rawValue, record.isActive, StoredJSON.text(of: record.allow), record.at.rawValue,
          record.number, record.received.rawValue, record.steps.milliseconds,
        ])
      try transaction.updates.touch(record.device.rawValue, ofRow: user)
    }
    if filters.count == 1 { try transaction.updates.alive(filters[0].device, of: name) }
  }
}
