// SPDX-License-Identifier: Apache-2.0
import Foundation
import Logging
import RelayDelivery
import Testing

@testable import RelayServer

/// The folder of the system's zone files: the files that the relay reads, and its limits.
@Suite final class ZoneFolderTests {
  private let folder = FileManager.default.temporaryDirectory.appending(path: "stillwire-zones-\(UUID().uuidString)")

  init() throws { try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true) }

  deinit { try? FileManager.default.removeItem(at: folder) }

  /// A zone file of version 1 with the offset 0.
  private static let zone =
    Data("TZif".utf8) + Data(repeating: 0, count: 16 + 12) + Data([0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 4])
    + Data([0, 0, 0, 0, 0, 0]) + Data("UTC\0".utf8)

  private func write(_ name: String, _ content: Data = zone) throws {
    let file = folder.appending(path: name)
    try FileManager.default.createDirectory(at: file.deletingLastPathComponent(), withIntermediateDirectories: true)
    try content.write(to: file)
  }

  private func read() -> TimeZones {
    ZoneFolder(folder.path).read(Logger(label: "test") { _ in SwiftLogNoOpLogHandler() })
  }

  @Test(arguments: [
    "UTC", "Europe/Berlin", "America/Argentina/Buenos_Aires", "Etc/GMT+5", "Etc/GMT-14",
    "Europe/" + String(repeating: "x", count: 57),
  ])
  func `a file with a name of the IANA's form is a zone`(name: String) throws {
    try write(name)
    #expect(read().count == 1 && read().knows(name))
  }

  @Test(arguments: [
    "posix/UTC", "right/UTC", "localtime", "posixrules", "A/B/C/D", "Europe/Berlin.bak", "__init__", ".hidden", "1/UTC",
    "Europe/ü", "Europe/" + String(repeating: "x", count: 58),
  ])
  func `a file with another name is skipped`(name: String) throws {
    try write("UTC")
    try write(name)
    #expect(read().count == 1 && read().knows("UTC"))
  }

  @Test func `links are zones, and links to outer folders end`() throws {
    try write("Asia/Kolkata")
    try FileManager.default.createSymbolicLink(
      at: folder.appending(path: "Asia/Calcutta"), withDestinationURL: folder.appending(path: "Asia/Kolkata"))
    try FileManager.default.createSymbolicLink(at: folder.appending(path: "Asia/Loop"), withDestinationURL: folder)
    try FileManager.default.createSymbolicLink(
      at: folder.appending(path: "Nowhere"), withDestinationURL: folder.appending(path: "missing"))
    let zones = read()
    #expect(zones.knows("Asia/Kolkata") && zones.knows("Asia/Calcutta"))
    #expect(!zones.knows("Nowhere"))
  }

  @Test func `a pipe is skipped without a wait`() throws {
    try write("UTC")
    #expect(mkfifo(folder.appending(path: "Pipe").path, 0o600) == 0)
    #expect(read().count == 1)
  }

  @Test func `the number of files is limited`() throws {
    for number in 0..<ZoneFolder.maxFiles + 3 { try write("Mars/Z\(number)") }
    #expect(read().count == ZoneFolder.maxFiles)
  }

  @Test(arguments: [
    ("tzdata.zi", "# version 2026f\nR a\n", "2026f"), ("tzdata.zi", "# version 2026f", "2026f"),
    ("+VERSION", "2025b\n", "2025b"), ("tzdata.zi", "# This file\n# version 2026f\n", "unknown"),
    ("tzdata.zi", "# version " + String(repeating: "1", count: 100), "unknown"), ("other", "2025b", "unknown"),
    ("+VERSION", "", "unknown"),
  ])
  func `the version is that of tzdata_zi or VERSION`(file: String, text: String, version: String) throws {
    try write("UTC")
    try write(file, Data(text.utf8))
    #expect(read().version == version)
  }

  @Test func `a folder without zone files has no version`() throws {
    try write("tzdata.zi", Data("# version 2026f\n".utf8))
    #expect(read() == TimeZones())
    try write("UTC", Self.zone.dropLast())
    #expect(read() == TimeZones())
  }
}
