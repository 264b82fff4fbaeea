// SPDX-License-Identifier: Apache-2.0
import Foundation
import GRDB

extension Transaction {
  /// Replaces the registry of categories. Equal categories change nothing.
  /// - Parameters:
  ///   - categories: A JSON array.
  ///   - version: The version to replace; nil: any version.
  /// - Returns: The version that is stored now; nil: the store has another version than the one to replace.
  public func setCategories(_ categories: [UInt8], replacing version: Int64?) throws -> Int64? {
    let known = try reader.categories()
    let newest = known?.version ?? 0
    guard version == nil || version == newest else { return nil }
    guard known?.categories != categories else { return newest }
    try db.run(
      """
      INSERT INTO categories (id, version, categories) VALUES (1, ?, ?)
      ON CONFLICT (id) DO UPDATE SET version = excluded.version, categories = excluded.categories
      """,
      [newest + 1, Data(categories)])
    return newest + 1
  }
}

extension Reader {
  /// The registry of categories, a JSON array; nil: it was never set.
  public func categories() throws -> (version: Int64, categories: [UInt8])? {
    try db.first("SELECT version, categories FROM categories WHERE id = 1").map {
      ($0["version"], try $0.bytes("categories"))
    }
  }
}
