// SPDX-License-Identifier: Apache-2.0

/// The categories of notifications. Senders name a category in a push, and clients declare all of them to the system.
public struct CategoryRegistry: Equatable, Sendable {
  /// The number of changes. It is 0 until a backend sets categories.
  public let version: Int64
  public let categories: [NotificationCategory]
  private let indices: [CategoryID: Int]

  /// - Parameter categories: The ids of the categories, and of all their actions, are unique.
  public init(version: Int64 = 0, categories: [NotificationCategory] = []) {
    self.version = version
    self.categories = categories
    indices = Dictionary(uniqueKeysWithValues: zip(categories.map(\.id), categories.indices))
  }

  public subscript(id: CategoryID) -> NotificationCategory? { indices[id].map { categories[$0] } }

  public static let maxCategories = 64
  /// The maximum size of the categories as JSON, in bytes.
  public static let maxSize = 256 << 10
}
