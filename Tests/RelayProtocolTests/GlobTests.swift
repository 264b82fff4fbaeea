// SPDX-License-Identifier: Apache-2.0
import RelayProtocol
import Testing

@Suite struct GlobTests {
  @Test(arguments: [
    ("*", "a", true), ("*", "anything.at:all", true), ("a", "a", true), ("a", "b", false), ("a", "aa", false),
    ("live.*", "live.", true), ("live.*", "live.a", true), ("live.*", "live", false), ("live.*", "alive.a", false),
    ("*.a", "b.a", true), ("*.a", "b.a.c", false), ("a*c", "abc", true), ("a*c", "ac", true), ("a*c", "acb", false),
    ("a*b*c", "aXbYbZc", true), ("a*b*c", "aXcYb", false), ("**", "x", true), ("a**b", "ab", true),
    ("*a*a*", "aa", true), ("*a*a*", "a", false), ("A", "a", false),
  ])
  func `a star matches any text`(pattern: String, name: String, fits: Bool) throws {
    #expect(try #require(Glob(pattern)).matches(name) == fits)
  }

  @Test(arguments: ["", "a b", "ü", "[a]", "a?", String(repeating: "a", count: 256)])
  func `a pattern with any other character, or of a wrong length, is rejected`(pattern: String) {
    #expect(Glob(pattern) == nil)
  }

  @Test func `a hostile pattern takes no more steps than the lengths multiplied`() throws {
    let glob = try #require(Glob(String(repeating: "*a", count: 126) + "*b"))
    for _ in 0..<100 { #expect(!glob.matches(String(repeating: "a", count: 255))) }
  }

  @Test func `every short pattern agrees with the definition`() throws {
    let patterns = words(of: ["a", "b", "*"], upTo: 4).filter { !$0.isEmpty }
    let names = words(of: ["a", "b"], upTo: 4)
    for pattern in patterns {
      let glob = try #require(Glob(pattern))
      for name in names { #expect(glob.matches(name) == fits(pattern[...], name[...]), "\(pattern) \(name)") }
    }
  }

  private func fits(_ pattern: Substring, _ name: Substring) -> Bool {
    guard let first = pattern.first else { return name.isEmpty }
    if first == "*" {
      return fits(pattern.dropFirst(), name) || (!name.isEmpty && fits(pattern, name.dropFirst()))
    }
    return name.first == first && fits(pattern.dropFirst(), name.dropFirst())
  }

  private func words(of letters: [String], upTo length: Int) -> [String] {
    guard length > 0 else { return [""] }
    return [""] + letters.flatMap { letter in words(of: letters, upTo: length - 1).map { letter + $0 } }
  }
}
