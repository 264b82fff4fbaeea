// SPDX-License-Identifier: Apache-2.0
import GRDB
public import RelayProtocol

extension Transaction {
  /// Stores the user's preferences, in place of the preferences before.
  public func save(_ preferences: Preferences, of user: UserID) throws {
    let text = preferences == Preferences() ? nil : try StoredJSON.text(of: preferences)
    try db.run("UPDATE users SET preferences = ? WHERE id = ?", [text, needRow(of: user)])
  }

  /// The maximum of users whom one user can block.
  public static let mostBlocked = 1_000

  /// Blocks a name for the user. A block stores the name, so it makes no row of an unknown user.
  ///
  /// One past ``mostBlocked`` throws ``StoreError/tooMany(_:)``.
  /// - Returns: False if the name was blocked already.
  @discardableResult
  public func block(_ other: UserID, by user: UserID) throws -> Bool {
    let id = try needRow(of: user)
    try db.run("INSERT INTO blocks (user, other) VALUES (?, ?) ON CONFLICT DO NOTHING", [id, other.rawValue])
    guard db.changesCount == 1 else { return false }
    let count: Int = try db.first("SELECT count(*) FROM blocks WHERE user = ?", [id])?[0] ?? 0
    if count > Self.mostBlocked { throw StoreError.tooMany(.blockedUsers) }
    return true
  }

  /// Ends a block.
  /// - Returns: False if the name was not blocked.
  @discardableResult
  public func unblock(_ other: UserID, by user: UserID) throws -> Bool {
    guard let id = try row(of: user) else { return false }
    try db.run("DELETE FROM blocks WHERE user = ? AND other = ?", [id, other.rawValue])
    return db.changesCount == 1
  }
}
