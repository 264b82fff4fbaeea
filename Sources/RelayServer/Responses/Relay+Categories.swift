// SPDX-License-Identifier: Apache-2.0
import RelayHub
import RelayJSON
import RelayProtocol
import RelayStore

/// The registry of categories, as it is handed out.
struct Categories: Sendable {
  let registry: CategoryRegistry
  /// JSON: `version` and `categories`.
  let document: [UInt8]
  let tag: String

  init(_ registry: CategoryRegistry = CategoryRegistry()) {
    self.registry = registry
    document = JSONWriter.object {
      $0.integer("version", registry.version)
      $0.raw("categories", registry.categoriesJSON)
    }
    tag = entityTag(of: document)
  }
}

/// The registry of categories, which is the same for every sender and every client.
extension Relay {
  /// Loads the registry of the earlier run. Throws ``StoreError/damaged(reason:)``.
  func loadCategories() async throws {
    let damaged = StoreError.damaged(reason: "the stored categories cannot be read")
    guard let stored = try await store.read({ try $0.responses.categories() }) else { return }
    do {
      guard let list = JSON(reading: stored.categories) else { throw damaged }
      categories = Categories(try CategoryRegistry(version: stored.version, Fields(["categories": list])))
    } catch {
      throw damaged
    }
  }

  /// - Parameter version: The one that is replaced; nil: whichever there is.
  /// - Returns: false: there is another.
  func setCategories(_ registry: CategoryRegistry, replacing version: Int64?) async throws -> Bool {
    let json = registry.categoriesJSON
    guard json.count <= CategoryRegistry.largest else {
      throw RequestError(
        .tooLarge, "the categories may have \(CategoryRegistry.largest) bytes together", at: "/categories")
    }
    guard let stored = try await store.write({ try $0.responses.setCategories(json, replacing: version) }) else {
      return false
    }
    // Those of a later change may have been told first.
    if stored > categories.registry.version {
      categories = Categories(CategoryRegistry(version: stored, categories: registry.categories))
    }
    return true
  }
}
