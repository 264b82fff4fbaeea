// SPDX-License-Identifier: Apache-2.0
import CoreFoundation
import Foundation
import Logging

/// A JWK Set in a file (RFC 7517, section 5). The issuer of the tokens may replace the file at any time.
struct KeySetFile: Sendable {
  let path: String
  private(set) var keys: [VerificationKey] = []
  /// The keys that verify no tokens, each with its id and the reason.
  private(set) var skipped: [String] = []
  private var version: Version?

  /// Identifies the file and its contents, without reading it. The version differs if the path leads to another file,
  /// or if the file has changed.
  private struct Version: Equatable {
    let seconds, nanoseconds, size: Int
    let device, number: UInt64
  }

  static let maxBytes = 1 << 20
  static let maxKeys = 100
  /// The maximum number of skipped keys in a line of the log, and the maximum length of their texts.
  private static let (maxNamed, maxText) = (5, 40)

  /// Reads the file. Throws ``StartupError``.
  init(path: String) async throws(StartupError) {
    self.path = path
    version = Self.version(of: path)
    (keys, skipped) = try await Self.keys(in: path)
  }

  /// Reads the file again if it has changed. Returns true if it has. Throws ``StartupError`` once for an invalid file,
  /// and keeps the earlier keys.
  mutating func refresh() async throws(StartupError) -> Bool {
    let now = Self.version(of: path)
    guard now != version else { return false }
    version = now
    (keys, skipped) = try await Self.keys(in: path)
    return true
  }

  /// Logs the skipped keys in one line, if there are some.
  func noteSkipped(_ log: Logger) {
    guard !skipped.isEmpty else { return }
    log.notice(
      "the key set has keys that verify no tokens",
      metadata: ["path": "\(path)", "keys": "\(Self.list(skipped))", "count": "\(skipped.count)"])
  }

  private static func list(_ skipped: [String]) -> String {
    skipped.prefix(maxNamed).joined(separator: ", ") + (skipped.count > maxNamed ? ", …" : "")
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

  private struct Contents: Decodable {
    let keys: [Entry]

    struct Entry: Decodable {
      /// Is `nil` if a member has another type than RFC 7517 gives it.
      let key: KeySetMember?
      init(from decoder: any Decoder) { key = try? KeySetMember(from: decoder) }
    }
  }

  /// Reads the keys that verify tokens. Skips others: a set may have keys for other purposes, or of types that the
  /// relay does not know (RFC 7517, section 5).
  private static func keys(
    in path: String
  ) async throws(StartupError) -> (keys: [VerificationKey], skipped: [String]) {
    let data = try OpenedFile(path, as: "the key set", maxSize: maxBytes + 1).data
    guard data.count <= maxBytes else { throw StartupError("the key set \(path) is over 1 MiB") }
    guard let set = try? JSONDecoder().decode(Contents.self, from: data) else {
      throw StartupError("the key set \(path) is no JWK Set: an object with an array keys")
    }
    guard set.keys.count <= maxKeys else { throw StartupError("the key set \(path) has more than \(maxKeys) keys") }
    var keys: [VerificationKey] = []
    var skipped: [String] = []
    for (index, entry) in set.keys.enumerated() {
      guard let member = entry.key else {
        skipped.append("/keys/\(index) (no JWK)")
        continue
      }
      switch member.purpose {
      case .verifies(let algorithm):
        do {
          keys.append(try await VerificationKey(member, algorithm))
        } catch {
          throw StartupError("the key set \(path) has an invalid key: /keys/\(index)")
        }
      case .other(let reason): skipped.append("\(shown(member.kid ?? "/keys/\(index)")) (\(shown(reason)))")
      }
    }
    guard !keys.isEmpty else {
      let reasons = skipped.isEmpty ? "" : ": \(list(skipped))"
      throw StartupError("the key set \(path) has no key that verifies ES256, RS256 or EdDSA tokens\(reasons)")
    }
    return (keys, skipped)
  }

  /// Text of the file for a line of the log. It cannot forge another line.
  private static func shown(_ text: String) -> String {
    String(text.unicodeScalars.prefix(maxText).map { $0.isASCII && $0.value > 31 ? Character($0) : "?" })
  }
}
