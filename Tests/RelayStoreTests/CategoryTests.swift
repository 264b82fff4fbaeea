// SPDX-License-Identifier: Apache-2.0
import Testing

@testable import RelayStore

/// The registry of notification categories and its version.
@Suite struct CategoryTests {
  let test: TestStore
  init() throws { test = try TestStore() }

  private func set(_ categories: String, replacing version: Int64? = nil) async throws -> Int64? {
    try await test.write { try $0.responses.setCategories(Array(categories.utf8), replacing: version) }
  }

  @Test func `each change increases the version`() async throws {
    #expect(try await test.read { try $0.responses.categories() } == nil)
    #expect(try await set("[1]") == 1)
    #expect(try await set("[1]") == 1)
    #expect(try await set("[2]") == 2)
    let stored = try #require(try await test.read { try $0.responses.categories() })
    #expect((stored.version, stored.categories) == (2, Array("[2]".utf8)))
  }

  @Test func `a replacement needs the present version`() async throws {
    #expect(try await set("[1]", replacing: 1) == nil)
    #expect(try await set("[1]", replacing: 0) == 1)
    #expect(try await set("[2]", replacing: 0) == nil)
    #expect(try await set("[2]", replacing: 1) == 2)
  }
}
