// SPDX-License-Identifier: Apache-2.0
import Foundation
import Testing

@testable import RelayServer

/// Files of the data folder that are removed or replaced while the relay runs.
@Suite final class LostFilesTests {
  private let folder = NSTemporaryDirectory() + "stillwire-lost-\(UInt64.random(in: 0...UInt64.max))"
  private let files = FileManager.default
  private var database: String { folder + "/stillwire.db" }

  deinit { try? FileManager.default.removeItem(atPath: folder) }

  /// Returns the events, one observation a second.
  private func events(_ losses: [Bool]) -> [LostFiles.Event?] {
    var lostFiles = LostFiles()
    let start = ContinuousClock.now
    return losses.enumerated().map { lostFiles.observe(areLost: $1, at: start + .seconds($0)) }
  }

  @Test func `a relay ends four seconds after it has noticed the loss`() {
    #expect(events([false, true, true, true, true, true]) == [nil, .begins, nil, nil, nil, .ends])
    #expect(StoreProbe.pause * 2 + LostFiles.patience + LostFiles.farewell < .seconds(9))
  }

  @Test func `files that return end the wait`() {
    #expect(
      events([true, true, true, true, false, false, true, true, true, true, true])
        == [.begins, nil, nil, nil, .returns, nil, .begins, nil, nil, nil, .ends])
  }

  // MARK: The folder of a node

  private func makeFolder() throws { try files.createDirectory(atPath: folder, withIntermediateDirectories: true) }
  private func makeDatabase() { _ = files.createFile(atPath: database, contents: nil) }

  @Test func `a node makes its folder and its database after the first check`() throws {
    var check = FolderCheck(folder)
    #expect(check.check() == nil)
    try makeFolder()
    #expect(check.check() == nil)
    makeDatabase()
    #expect(check.check() == nil)
  }

  @Test func `a snapshot may replace the database`() throws {
    try makeFolder()
    makeDatabase()
    var check = FolderCheck(folder)
    for _ in 0..<2 { #expect(check.check() == nil) }
    try Data("new".utf8).write(to: URL(fileURLWithPath: database), options: .atomic)
    #expect(check.check() == nil)
  }

  @Test func `a folder that was removed or replaced is lost, and one that returns is not`() throws {
    try makeFolder()
    var check = FolderCheck(folder)
    #expect(check.check() == nil)
    let moved = folder + "-moved"
    defer { try? files.removeItem(atPath: moved) }
    try files.moveItem(atPath: folder, toPath: moved)
    #expect(check.check() == "\(folder) was removed or replaced while the relay runs")
    try makeFolder()
    #expect(check.check() != nil)
    try files.removeItem(atPath: folder)
    try files.moveItem(atPath: moved, toPath: folder)
    #expect(check.check() == nil)
  }

  @Test func `a database that was removed is lost`() throws {
    try makeFolder()
    makeDatabase()
    var check = FolderCheck(folder)
    for _ in 0..<2 { #expect(check.check() == nil) }
    try files.removeItem(atPath: database)
    #expect(check.check() == "\(database) was removed or replaced while the relay runs")
  }
}
