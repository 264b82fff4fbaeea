// SPDX-License-Identifier: Apache-2.0
import Foundation
import Testing

@testable import RelayIdentity

@Suite final class APIKeysTests {
  private let path = NSTemporaryDirectory() + "stillwire-keys-\(UInt64.random(in: 0...UInt64.max))"

  deinit { try? FileManager.default.removeItem(atPath: path) }

  @Test func `a new key has a name, and the file does not contain the key`() throws {
    let billing = try APIKeys.add("billing", to: path)
    let search = try APIKeys.add("search", to: path)
    let keys = try APIKeys(path: path)
    #expect(keys.key(billing)?.name == "billing")
    #expect(keys.key(search)?.name == "search")
    #expect(keys.key(billing + "x")?.name == nil)
    #expect(keys.key("")?.name == nil)
    let text = try String(contentsOfFile: path, encoding: .utf8)
    #expect(!text.contains(billing) && !text.contains(billing.dropFirst(3)))
    let mode = try FileManager.default.attributesOfItem(atPath: path)[.posixPermissions] as? Int
    #expect(mode == 0o600)
  }

  @Test func `a name is unique, and its key can be removed`() throws {
    let first = try APIKeys.add("a", to: path)
    #expect(throws: StartupError.self) { try APIKeys.add("a", to: path) }
    _ = try APIKeys.add("b", to: path)
    try APIKeys.remove("a", from: path)
    let keys = try APIKeys(path: path)
    #expect(keys.key(first)?.name == nil)
    #expect(keys.contains("b") && !keys.contains("a"))
    #expect(throws: StartupError.self) { try APIKeys.remove("a", from: path) }
  }

  @Test func `a file that is replaced keeps its mode`() throws {
    _ = try APIKeys.add("a", to: path)
    try FileManager.default.setAttributes([.posixPermissions: 0o640], ofItemAtPath: path)
    _ = try APIKeys.add("b", to: path)
    try APIKeys.remove("a", from: path)
    #expect(try FileManager.default.attributesOfItem(atPath: path)[.posixPermissions] as? Int == 0o640)
  }

  @Test func `a symbolic link stays, and its file is replaced with its mode`() throws {
    let link = path + "-link"
    defer { try? FileManager.default.removeItem(atPath: link) }
    let first = try APIKeys.add("a", to: path)
    try FileManager.default.setAttributes([.posixPermissions: 0o640], ofItemAtPath: path)
    try FileManager.default.createSymbolicLink(atPath: link, withDestinationPath: path)
    _ = try APIKeys.add("b", to: link)
    #expect(try FileManager.default.destinationOfSymbolicLink(atPath: link) == path)
    #expect(try FileManager.default.attributesOfItem(atPath: path)[.posixPermissions] as? Int == 0o640)
    let keys = try APIKeys(path: path)
    #expect(keys.key(first)?.name == "a" && keys.contains("b"))
  }

  @Test func `a key beyond the maximum is rejected, and the file stays valid`() throws {
    let hash = String(repeating: "0", count: 64)
    let lines = (0..<1_000).map { "key\($0) \(hash)\n" }.joined()
    try Data(lines.utf8).write(to: URL(fileURLWithPath: path))
    #expect(throws: StartupError.self) { try APIKeys.add("more", to: path) }
    try APIKeys.remove("key7", from: path)
    _ = try APIKeys.add("more", to: path)
  }

  @Test(arguments: ["", "a b", "ü", String(repeating: "a", count: 65), "#a"])
  func `an invalid name is rejected`(name: String) {
    #expect(throws: StartupError.self) { try APIKeys.add(name, to: path) }
    #expect(throws: StartupError.self) { try APIKeys.add("a", scope: name, to: path) }
  }

  @Test(arguments: [
    ("a", "line 1"), ("# why\na 00", "line 2"), ("a \(String(repeating: "0", count: 64)) b c", "line 1"),
    ("a \(String(repeating: "0", count: 64)) ü", "line 1"),
    ("a \(String(repeating: "x", count: 64))", "line 1"),
    ("a \(String(repeating: "0", count: 64))\na \(String(repeating: "1", count: 64))", "line 2"),
  ])
  func `an error has the number of the wrong line`(text: String, location: String) throws {
    try Data(text.utf8).write(to: URL(fileURLWithPath: path))
    let error = #expect(throws: StartupError.self) { try APIKeys(path: path) }
    #expect(error?.description.contains(location) == true)
  }
}
