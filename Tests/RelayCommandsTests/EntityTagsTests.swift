// SPDX-License-Identifier: Apache-2.0
import Testing

@testable import RelayRequests

@Suite struct EntityTagsTests {
  @Test(arguments: [
    ("\"a\"", true, true), ("W/\"a\"", false, true), ("*", true, true), (" * ", true, true),
    ("\"b\", \"a\"", true, true), ("\"b\" ,\tW/\"a\"", false, true), ("\"b\",\"c\"", false, false),
    ("\"\", \"a\"", true, true), (", \"a\",,", true, true), ("\"b,c\", \"a\"", true, true),
    ("a", false, false), ("w/\"a\"", false, false), ("\"a", false, false), ("\"b\" \"a\"", false, false),
    ("\"b,\"a\",\"", true, true), ("\"*\"", false, false), ("*, \"b\"", false, false), ("", false, false),
  ])
  func `If-Match compares strongly, If-None-Match weakly`(field: String, isMatch: Bool, isKnown: Bool) {
    #expect(EntityTags(field).match("\"a\"") == isMatch)
    #expect(EntityTags(field).matchWeakly("\"a\"") == isKnown)
  }

  @Test func `a tag depends only on the bytes`() {
    #expect(entityTag(of: []) == "\"e3b0c44298fc1c149afbf4c8\"")
    #expect(entityTag(of: [1]) != entityTag(of: [2]))
  }
}
