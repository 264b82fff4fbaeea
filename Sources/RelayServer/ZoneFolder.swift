// SPDX-License-Identifier: Apache-2.0
import CoreFoundation
import Foundation
import Logging
import RelayDelivery

/// Reads the system's time zone files: all that a folder has, so that no request ever leads to a file.
///
/// The folder has one file for each name, such as `Europe/Berlin`. Other files are skipped: they have other names, or do
/// not begin with `TZif`.
struct ZoneFolder {
  private let path: String

  init(_ path: String) { self.path = path }

  static let maxFiles = 4_096
  /// IANA names have at most three parts.
  static let maxDepth = 3
  static let maxNameLength = 64

  /// Copies of the zones with other rules, and links to the zone of this machine.
  private static let skipped: Set<String> = ["posix", "right", "localtime", "posixrules"]

  /// Returns the time zones. Logs the damaged files; the relay treats their zones as unknown.
  func read(_ log: Logger) -> TimeZones {
    var files: [String: [UInt8]] = [:]
    collect("", 1, into: &files)
    let (zones, faults) = TimeZones.parse(version: version, files: files)
    for (name, fault) in faults.sorted(by: { $0.key < $1.key }).prefix(Self.maxLogged) {
      log.warning("a time zone file is damaged: \(fault.rawValue)", metadata: ["file": "\(path)/\(name)"])
    }
    if faults.count > Self.maxLogged {
      log.warning("more time zone files are damaged", metadata: ["count": "\(faults.count)"])
    }
    return zones
  }

  private static let maxLogged = 10

  /// - Parameter folder: Is empty, or ends with a slash.
  private func collect(_ folder: String, _ depth: Int, into files: inout [String: [UInt8]]) {
    let names = (try? FileManager.default.contentsOfDirectory(atPath: "\(path)/\(folder)")) ?? []
    for part in names.sorted() where Self.isName(part) && !(depth == 1 && Self.skipped.contains(part)) {
      let name = folder + part
      guard files.count < Self.maxFiles, name.utf8.count <= Self.maxNameLength else { continue }
      var isFolder: ObjCBool = false
      guard FileManager.default.fileExists(atPath: "\(path)/\(name)", isDirectory: &isFolder) else { continue }
      if isFolder.boolValue {
        if depth < Self.maxDepth { collect("\(name)/", depth + 1, into: &files) }
      } else if let bytes = contents(name, maxSize: ZoneFile.maxSize + 1), bytes.starts(with: "TZif".utf8) {
        files[name] = bytes
      }
    }
  }

  /// True for a part of a name that IANA allows: letters, digits, `_`, `+` and `-`, with a letter first.
  private static func isName(_ part: String) -> Bool {
    func isLetter(_ byte: UInt8) -> Bool { (65...90).contains(byte & ~32) }
    return part.utf8.first.map(isLetter) == true
      && part.utf8.allSatisfy { isLetter($0) || (48...57).contains($0) || "_+-".utf8.contains($0) }
  }

  /// The first bytes of a regular file. Is `nil` if the file cannot be read.
  private func contents(_ name: String, maxSize: Int) -> [UInt8]? {
    // Does not wait for a pipe.
    let file = open("\(path)/\(name)", O_RDONLY | O_NONBLOCK | O_CLOEXEC)
    guard file >= 0 else { return nil }
    defer { close(file) }
    var facts = stat()
    guard fstat(file, &facts) == 0, facts.st_mode & S_IFMT == S_IFREG else { return nil }
    let handle = FileHandle(fileDescriptor: file, closeOnDealloc: false)
    return (try? handle.read(upToCount: maxSize)).flatMap { $0 }.map { [UInt8]($0) }
  }

  /// The version of the tz database: in the first line of `tzdata.zi`, or in `+VERSION`.
  private var version: String {
    let header = "# version "
    if let bytes = contents("tzdata.zi", maxSize: 64), let line = bytes.split(separator: 10).first {
      let text = String(decoding: line, as: UTF8.self)
      if text.hasPrefix(header) { return String(text.dropFirst(header.count)) }
    }
    let text = contents("+VERSION", maxSize: 64).map { String(decoding: $0, as: UTF8.self) }
    return text?.split(whereSeparator: \.isWhitespace).first.map(String.init) ?? ""
  }
}
