// SPDX-License-Identifier: Apache-2.0
public import Foundation

// The time zones that the relay knows, as one value. `ZoneFolder` of `RelayServer` reads the files, and the store keeps
// those that users need. Depends on Foundation for the rules of Swift.

/// The rules of time zones, by their IANA names.
///
/// The system's zone files are the first source. A zone that they lack keeps the rules of the file that the relay has
/// stored. Swift's own rules, which are compiled in, are the last source.
public struct TimeZones: Equatable, Sendable {
  /// The version of the system's tzdata, such as `2026f`. Is `nil` if the system has no zone files.
  public let version: String?
  private var files: [String: File]
  /// The stored files of zones that `files` lacks.
  private var last: [String: File] = [:]

  private struct File: Equatable {
    let bytes: [UInt8]
    let rules: ZoneFile

    static func == (a: Self, b: Self) -> Bool { a.bytes == b.bytes }
  }

  /// The zones with Swift's rules.
  public init() {
    version = nil
    files = [:]
  }

  /// The zones of the system. Returns the names of the files that are damaged, with their faults. These zones are not
  /// part of the value.
  /// - Parameters:
  ///   - version: Is `unknown` if it is longer than 32 characters, or if other characters than letters, digits, dots
  ///     and hyphens are in it.
  ///   - files: The contents of the zone files, by the names of the zones.
  public static func parse(
    version: String, files: [String: [UInt8]]
  ) -> (zones: TimeZones, faults: [String: ZoneFile.Fault]) {
    var (parsed, faults): ([String: File], [String: ZoneFile.Fault]) = ([:], [:])
    // Links of the database are equal files. The hash of `Data` reads only the first bytes.
    var known: [Data: File] = [:]
    for (name, bytes) in files {
      do throws(ZoneFile.Fault) {
        let content = Data(bytes)
        let file = if let file = known[content] { file } else { File(bytes: bytes, rules: try ZoneFile(bytes)) }
        known[content] = file
        parsed[name] = file
      } catch {
        faults[name] = error
      }
    }
    return (TimeZones(version: isVersion(version) ? version : "unknown", files: parsed), faults)
  }

  private init(version: String, files: [String: File]) {
    // Without a usable file, the relay uses Swift's rules.
    self.version = files.isEmpty ? nil : version
    self.files = files
  }

  private static func isVersion(_ text: String) -> Bool {
    (1...32).contains(text.utf8.count)
      && text.utf8.allSatisfy {
        switch $0 {
        case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
          UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "."), UInt8(ascii: "-"):
          true
        default: false
        }
      }
  }

  /// The number of zones in the system's files.
  public var count: Int { files.count }

  /// Adds the zones that only the store knows.
  /// - Parameter stored: The contents of the stored zone files, by the names of the zones.
  public func keeping(_ stored: [String: [UInt8]]) -> TimeZones {
    var zones = self
    for (name, bytes) in stored where files[name] == nil {
      if let rules = try? ZoneFile(bytes) { zones.last[name] = File(bytes: bytes, rules: rules) }
    }
    return zones
  }

  /// The names of the zones that keep the rules of a stored file, in order.
  public var kept: [String] { last.keys.sorted() }

  /// True if the zone keeps the rules of a stored file, because the system's files lack it.
  public func isKept(_ name: String) -> Bool { last[name] != nil }

  /// The zone file to store. Is `nil` if the rules are not those of the system's files.
  public func file(of name: String) -> [UInt8]? { files[name]?.bytes }

  /// True if requests may name this zone.
  public func knows(_ name: String) -> Bool {
    if files[name] != nil || last[name] != nil { return true }
    return version == nil && Self.isSwiftZone(name)
  }

  /// The rules of a zone. An unknown zone has the rules of UTC, so that quiet hours in it still begin and end.
  public subscript(name: String) -> ZoneRules {
    if let file = files[name] ?? last[name] { return .file(file.rules) }
    return Self.isSwiftZone(name) ? TimeZone(identifier: name).map(ZoneRules.swift) ?? .utc : .utc
  }

  /// True if this is the exact name of a zone in the IANA's database, and Swift has its rules.
  private static func isSwiftZone(_ name: String) -> Bool {
    // Foundation accepts other names as well: offsets, and ambiguous abbreviations.
    let isPlace = name.contains("/") && !name.hasPrefix("SystemV/")
    return (isPlace || placeless.contains(name)) && TimeZone(identifier: name) != nil
  }

  /// The names without an area. Most of them are old.
  static let placeless: Set<String> = [
    "CET", "CST6CDT", "Cuba", "EET", "EST", "EST5EDT", "Egypt", "Eire", "Factory", "GB", "GB-Eire", "GMT", "GMT+0",
    "GMT-0", "GMT0", "Greenwich", "HST", "Hongkong", "Iceland", "Iran", "Israel", "Jamaica", "Japan", "Kwajalein",
    "Libya", "MET", "MST", "MST7MDT", "NZ", "NZ-CHAT", "Navajo", "PRC", "PST8PDT", "Poland", "Portugal", "ROC", "ROK",
    "Singapore", "Turkey", "UCT", "UTC", "Universal", "W-SU", "WET", "Zulu",
  ]
}

/// The rules of one time zone.
public enum ZoneRules: Equatable, Sendable {
  /// The rules of a zone file.
  case file(ZoneFile)
  /// The rules that are compiled into Swift.
  case swift(TimeZone)
  case utc

  /// The offset in seconds east of UTC. Its absolute value is less than a day.
  func offset(at second: Int64) -> Int64 {
    switch self {
    case .file(let file): file.offset(at: second)
    case .swift(let zone): Int64(zone.secondsFromGMT(for: Date(timeIntervalSince1970: Double(second))))
    case .utc: 0
    }
  }
}
