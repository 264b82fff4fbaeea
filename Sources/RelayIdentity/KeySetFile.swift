// SPDX-License-Identifier: Apache-2.0
import CoreFoundation
import Foundation
import JWTKit

/// A JWK Set in a file (RFC 7517, section 5). The issuer of the tokens may replace the file at any time.
struct KeySetFile: Sendable {
  let path: String
  private(set) var keys: [VerificationKey] = []
  private var version: Version?

  /// Identifies the file and its contents, without reading it. The version differs if the path leads to another file,
  /// or if the file has changed.
  private struct Version: Equatable {
    let seconds, nanoseconds, size: Int
    let device, number: UInt64
  }

  static let maxBytes = 1 << 20
  static let maxKeys = 100

  /// Reads the file. Throws ``StartupError``.
  init(path: String) async throws(StartupError) {
    self.path = path
    version = Self.version(of: path)
    keys = try await Self.keys(in: path)
  }

  /// Reads the file again if it has changed. Returns true if it has. Throws ``StartupError`` once for an invalid file,
  /// and keeps the earlier keys.
  mutating func refresh() async throws(StartupError) -> Bool {
    let now = Self.version(of: path)
    guard now != version else { return false }
    version = now
    keys = try await Self.keys(in: path)
    return true
  }

  /// The version of the file that the path leads to. Is `nil` if there is no file.
  private static func version(of path: String) -> Version? {
    var status = stat()
    guard stat(path, &status) == 0 else { return nil }
    #if canImport(Darwin)
      let modified = status.st_mtimespec
    #else
      let modified = status.st_mtim
    #endif
    return Version(
      seconds: Int(modified.tv_sec), nanoseconds: Int(modified.tv_nsec), size: Int(status.st_size),
      device: UInt64(truncatingIfNeeded: status.st_dev), number: UInt64(truncatingIfNeeded: status.st_ino))
  }

  /// The keys of the set. Keys of an unknown type are ignored (RFC 7517, section 5).
  private struct Known: Decodable {
    let keys: [Entry]

    struct Entry: Decodable {
      let key: JWK?
      init(from decoder: any Decoder) { key = try? JWK(from: decoder) }
    }
  }

  private static func keys(in path: String) async throws(StartupError) -> [VerificationKey] {
    guard let data = FileManager.default.contents(atPath: path) else {
      throw StartupError("the key set \(path) cannot be read")
    }
    guard data.count <= maxBytes else { throw StartupError("the key set \(path) is over 1 MiB") }
    guard let set = try? JSONDecoder().decode(Known.self, from: data) else {
      throw StartupError("the key set \(path) is no JWK Set: an object with an array keys")
    }
    guard set.keys.count <= maxKeys else { throw StartupError("the key set \(path) has more than \(maxKeys) keys") }
    var keys: [VerificationKey] = []
    for (index, entry) in set.keys.enumerated() {
      guard let jwk = entry.key else { continue }
      do {
        if let key = try await VerificationKey(jwk) { keys.append(key) }
      } catch {
        throw StartupError("the key set \(path) has an invalid key: /keys/\(index)")
      }
    }
    guard !keys.isEmpty else {
      throw StartupError("the key set \(path) has no key for ES256, RS256 or EdDSA")
    }
    return keys
  }
}
