// SPDX-License-Identifier: Apache-2.0
import Crypto
package import Foundation
import RelayProtocol

/// The keys of backends. A backend with a key may act over HTTP for any user, or for the users of the key's scope.
///
/// The file has a line for each key: a name, the SHA-256 hash of the key in hexadecimal digits, and optionally the name
/// of a scope that the configuration declares. A key is 256 random bits, which nobody can guess, so that the hash needs
/// no salt and no slow function.
public struct APIKeys: Sendable {
  private var keys: [Line] = []

  /// A line of the file.
  private struct Line {
    let name: String
    let hash: Data
    /// The name of the scope. Is `nil` for a key with all rights.
    let scope: String?
    let number: Int
    /// The key with its scope, after ``limit(by:path:)``.
    var key: BackendKey
  }

  package static let prefix = "sw_"
  static let maxKeys = 1_000
  static let maxNameLength = 64

  /// Makes an empty set of keys.
  public init() {}

  /// Reads the file. Throws ``StartupError`` with the number of the wrong line.
  public init(path: String) throws(StartupError) {
    try self.init(Self.text(of: path), path: path)
  }

  private static func text(of path: String) throws(StartupError) -> String {
    String(decoding: try OpenedFile(path, as: "the file of API keys").data, as: UTF8.self)
  }

  private init(_ text: String, path: String) throws(StartupError) {
    for (index, line) in text.split(separator: "\n", omittingEmptySubsequences: false).enumerated() {
      let parts = line.split(separator: " ")
      guard let name = parts.first, name.first != "#" else { continue }
      guard (2...3).contains(parts.count), Self.isName(name), parts.count == 2 || Self.isName(parts[2]),
        let hash = Data(hex: parts[1]), hash.count == SHA256.byteCount
      else {
        throw StartupError("line \(index + 1) of \(path) is not a name, the SHA-256 of a key, and perhaps a scope")
      }
      guard !contains(String(name)) else {
        throw StartupError("line \(index + 1) of \(path): the name \(name) is used twice")
      }
      keys.append(
        Line(
          name: String(name), hash: hash, scope: parts.count == 3 ? String(parts[2]) : nil, number: index + 1,
          key: BackendKey(name: String(name), hash: hash)))
      guard keys.count <= Self.maxKeys else { throw StartupError("\(path) has more than \(Self.maxKeys) keys") }
    }
  }

  /// Returns the header field of a request with this API key. Throws ``StartupError`` if no header can contain the key.
  public static func authorization(_ key: String) throws(StartupError) -> (name: String, value: String) {
    guard key.utf8.allSatisfy({ (0x21...0x7E).contains($0) }) else {
      throw StartupError("the API key contains an invalid character")
    }
    return ("Authorization", "Bearer \(key)")
  }

  package var isEmpty: Bool { keys.isEmpty }

  public func contains(_ name: String) -> Bool { keys.contains { $0.name == name } }

  /// The names of all keys, in the order of the file.
  package var names: [String] { keys.map(\.name) }

  /// Returns the key with its name and its scope, or `nil` for an unknown key. The duration does not depend on the key.
  package func key(_ text: String) -> BackendKey? {
    let hash = SHA256.hash(data: Data(text.utf8))
    var found: BackendKey?
    for line in keys where hash == line.hash { found = line.key }
    return found
  }

  /// True if the key is still in the file, with the same rights.
  package func keeps(_ key: BackendKey) -> Bool { keys.contains { $0.key.hasSameRights(as: key) } }

  /// Gives each key its scope. Throws ``StartupError`` with the number of the line if a scope is unknown.
  mutating func limit(by scopes: KeyScopes, path: String) throws(StartupError) {
    for index in keys.indices {
      guard let name = keys[index].scope else { continue }
      guard let scope = scopes[name] else {
        throw StartupError("line \(keys[index].number) of \(path): apiKeyScopes has no scope \(name)")
      }
      keys[index].key.scope = scope
    }
  }

  static func isName(_ name: some StringProtocol) -> Bool {
    (1...maxNameLength).contains(name.utf8.count)
      && name.utf8.allSatisfy {
        $0 == UInt8(ascii: "-") || $0 == UInt8(ascii: "_") || $0 == UInt8(ascii: ".") || isLetterOrDigit($0)
      }
  }

  private static func isLetterOrDigit(_ byte: UInt8) -> Bool {
    (48...57).contains(byte) || (65...90).contains(byte) || (97...122).contains(byte)
  }

  // MARK: Writing

  /// Makes a key, adds its hash to the file, and returns the key. Nothing stores the key itself. Throws
  /// ``StartupError``.
  /// - Parameter scope: The name of a scope in the configuration. Without a scope, the key has all rights.
  public static func add(
    _ name: String, scope: String? = nil, to path: String
  ) throws(StartupError) -> String {
    for text in [name, scope].compactMap({ $0 }) {
      guard isName(text) else {
        throw StartupError("\(text) is no name: 1 to \(maxNameLength) letters, digits, and -_.")
      }
    }
    var text = FileManager.default.fileExists(atPath: path) ? try Self.text(of: path) : ""
    let existing = try APIKeys(text, path: path)
    guard existing.keys.count < maxKeys else { throw StartupError("\(path) has \(maxKeys) keys, the maximum") }
    guard !existing.contains(name) else { throw StartupError("\(path) has a key of the name \(name) already") }
    let secret = SymmetricKey(size: .bits256).withUnsafeBytes { Data($0) }
    let key = prefix + secret.base64URL
    let hash = SHA256.hash(data: Data(key.utf8)).map { byte in
      (byte < 16 ? "0" : "") + String(byte, radix: 16)
    }.joined()
    if !text.isEmpty, text.last != "\n" { text += "\n" }
    try write(text + "\(name) \(hash)\(scope.map { " \($0)" } ?? "")\n", to: path)
    return key
  }

  /// Removes a key from the file. Throws ``StartupError``, also if there is no key of this name.
  public static func remove(_ name: String, from path: String) throws(StartupError) {
    let text = try text(of: path)
    guard try APIKeys(text, path: path).contains(name) else {
      throw StartupError("\(path) has no key of the name \(name)")
    }
    let lines = text.split(separator: "\n").filter { $0.split(separator: " ").first != Substring(name) }
    try write(lines.map { $0 + "\n" }.joined(), to: path)
  }

  /// Replaces the file in one step, so that a relay that reads it at this time gets the old file or the new one.
  ///
  /// The new file has the owner and the permissions of the old one. If there is no old file, only the owner may read
  /// the new one. If the path is a symbolic link, the link stays and its target is replaced.
  private static func write(_ text: String, to link: String) throws(StartupError) {
    let path = target(of: link)
    let draft = path + ".new"
    let files = FileManager.default
    try? files.removeItem(atPath: draft)
    guard files.createFile(atPath: draft, contents: Data(text.utf8), attributes: [.posixPermissions: 0o600]) else {
      throw StartupError("\(path) cannot be written")
    }
    if let old = try? files.attributesOfItem(atPath: path) {
      do {
        try files.setAttributes(
          old.filter { [.ownerAccountID, .groupOwnerAccountID, .posixPermissions].contains($0.key) },
          ofItemAtPath: draft)
      } catch {
        try? files.removeItem(atPath: draft)
        throw StartupError("\(path) cannot be replaced by a file of the same owner and mode")
      }
    }
    guard rename(draft, path) == 0 else { throw StartupError("\(path) cannot be written") }
  }
}

/// An API key that a request contains. It has the name of the key, and never the key itself.
package struct BackendKey: Sendable {
  package let name: String
  /// The hash separates the key from a later one with the same name.
  private let hash: Data
  /// Is `nil` for a key with all rights.
  package internal(set) var scope: KeyScope?

  package init(name: String, hash: Data = Data(), scope: KeyScope? = nil) {
    self.name = name
    self.hash = hash
    self.scope = scope
  }

  /// True for the same key with the same rights. The rate may differ.
  package func hasSameRights(as other: BackendKey) -> Bool {
    name == other.name && hash == other.hash && scope?.rights == other.scope?.rights
  }
}

extension APIKeys {
  /// Returns the path without symbolic links. Returns `path` itself if there is no file yet.
  fileprivate static func target(of path: String) -> String {
    guard let found = realpath(path, nil) else { return path }
    defer { free(found) }
    return String(cString: found)
  }
}

extension Data {
  /// Returns `nil` unless the text consists of pairs of hexadecimal digits.
  init?(hex: some StringProtocol) {
    let digits = Array(hex.utf8)
    guard digits.count.isMultiple(of: 2) else { return nil }
    self.init()
    for index in stride(from: 0, to: digits.count, by: 2) {
      guard let byte = UInt8(String(decoding: digits[index..<index + 2], as: UTF8.self), radix: 16),
        digits[index] != UInt8(ascii: "+"), digits[index] != UInt8(ascii: "-")
      else { return nil }
      append(byte)
    }
  }
}
