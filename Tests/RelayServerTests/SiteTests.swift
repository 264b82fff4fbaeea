// SPDX-License-Identifier: Apache-2.0
import Foundation
import Testing

@testable import RelayServer

@Suite struct SiteTests {
  @Test func `a folder without a page is refused in words`() throws {
    let folder = NSTemporaryDirectory() + "stillwire-\(UInt64.random(in: 0...UInt64.max))"
    try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(atPath: folder) }
    let error = #expect(throws: StartupError.self) { try Site(folder: folder) }
    #expect(error?.description == "the web folder \(folder) has no index.html")
  }
}
