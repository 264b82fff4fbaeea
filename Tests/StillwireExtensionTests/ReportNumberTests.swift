// SPDX-License-Identifier: Apache-2.0
// Tests the counter of Focus reports, which is stored in a file.
import Foundation
import Testing

@testable import StillwireExtension

@Suite struct ReportNumberTests {
  private let file = FileManager.default.temporaryDirectory.appending(path: "number-\(UUID().uuidString)")

  private func number(_ seconds: Double = 1) -> ReportNumber {
    ReportNumber(file: file, now: { Date(timeIntervalSince1970: seconds) })
  }

  @Test func `numbers increase, also if the clock goes back`() throws {
    defer { try? FileManager.default.removeItem(at: file) }
    #expect(try number(5).next() == 5_000)
    #expect(try number(2).next() == 5_001)
    #expect(try number(2).next() == 5_002)
    #expect(try number(9).next() == 9_000)
  }

  @Test(arguments: ["", "nonsense", "-5", "99999999999999999999", "12 "])
  func `an invalid file is replaced`(_ text: String) throws {
    defer { try? FileManager.default.removeItem(at: file) }
    try Data(text.utf8).write(to: file)
    #expect(try number(7).next() == 7_000)
  }

  @Test func `a shorter number overwrites a longer text completely`() throws {
    defer { try? FileManager.default.removeItem(at: file) }
    try Data("nonsense of some length".utf8).write(to: file)
    #expect(try number().next() == 1_000)
    #expect(try String(contentsOf: file, encoding: .utf8) == "1000")
  }

  @Test func `concurrent callers never get the same number`() async throws {
    defer { try? FileManager.default.removeItem(at: file) }
    let number = number()
    let given = try await withThrowingTaskGroup(of: [Int64].self) { tasks in
      for _ in 0..<8 { tasks.addTask { try (0..<50).map { _ in try number.next() } } }
      return try await tasks.reduce(into: []) { $0 += $1 }
    }
    #expect(Set(given).count == 400)
    #expect(given.max() == 1_399)
  }

  @Test func `a missing folder is an error`() {
    #expect(throws: POSIXError.self) { try ReportNumber(file: URL(filePath: "/nowhere/number")).next() }
  }

  @Test func `the number is the time since 1970 if the file cannot be used`() throws {
    let locked = ReportNumber(file: URL(filePath: "/nowhere/number"), now: { Date(timeIntervalSince1970: 7) })
    #expect(locked.nextOrTime() == 7_000)
    defer { try? FileManager.default.removeItem(at: file) }
    #expect(number(7).nextOrTime() == 7_000)
    #expect(number(7).nextOrTime() == 7_001)
  }
}
