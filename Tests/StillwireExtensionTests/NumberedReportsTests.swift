// SPDX-License-Identifier: Apache-2.0
// Tests the reports that the relay has not applied.
import Foundation
import RelayJSON
import Testing

@testable import StillwireExtension

@Suite struct NumberedReportsTests {
  private let file = FileManager.default.temporaryDirectory.appending(path: "number-\(UUID().uuidString)")
  private let sent = Locked<[Int64]>([])

  /// Reports at 1 s since 1970.
  private var reports: NumberedReports {
    NumberedReports(ReportNumber(file: file, now: { Date(timeIntervalSince1970: 1) }))
  }

  /// Sends a report to a relay that gives these replies, one after the other.
  @discardableResult
  private func report(_ replies: [JSON], with reports: NumberedReports? = nil) async throws -> JSON {
    try await (reports ?? self.reports).report { number in
      sent.withLock { sent in
        sent.append(number)
        return replies[sent.count - 1]
      }
    }
  }

  @Test func `a report that is not applied is repeated once above the stored number`() async throws {
    defer { try? FileManager.default.removeItem(at: file) }
    let reply = try await report([["applied": false, "number": 5_000], ["applied": true, "isFocused": true]])
    #expect(reply["isFocused"]?.flag == true)
    #expect(sent.current == [1_000, 5_001])
    #expect(reports.number.nextOrTime() == 5_002)
  }

  @Test func `a second reply that the report is not applied is an error`() async throws {
    defer { try? FileManager.default.removeItem(at: file) }
    let ahead: JSON = ["applied": false, "number": 5_000]
    await #expect(throws: StillwireError.notApplied) {
      try await report([ahead, ["applied": false, "number": 6_000]])
    }
    #expect(sent.current == [1_000, 5_001])
  }

  @Test(arguments: [["applied": false], ["applied": false, "number": 9_223_372_036_854_775_807]] as [JSON])
  func `a report is not repeated without a valid stored number`(_ reply: JSON) async throws {
    defer { try? FileManager.default.removeItem(at: file) }
    await #expect(throws: StillwireError.notApplied) { try await report([reply]) }
  }

  @Test func `a report is not repeated after a newer one`() async throws {
    defer { try? FileManager.default.removeItem(at: file) }
    let reports = reports
    await #expect(throws: StillwireError.replaced) {
      try await reports.report { _ in
        _ = try await reports.report { _ in ["applied": true] }
        return ["applied": false, "number": 5_000]
      }
    }
  }

  /// Another process that reports within the 400 ms before the reply has a number up to 10,401.
  @Test(arguments: [0, 3_600, -3_600] as [Double], [10_401, 10_402] as [Int64])
  func `a step of the clock before the reply does not change if a report is the newest`(
    _ step: Double, _ stored: Int64
  ) async throws {
    defer { try? FileManager.default.removeItem(at: file) }
    let (sent, start) = (sent, ContinuousClock.now)
    let number = ReportNumber(file: file, now: { Date(timeIntervalSince1970: sent.current.isEmpty ? 10 : 10 + step) })
    let reports = NumberedReports(number, now: { sent.current.isEmpty ? start : start + .milliseconds(400) })
    let replies: [JSON] = [["applied": false, "number": .number("\(stored)")], ["applied": true]]
    if stored == 10_401 {
      await #expect(throws: StillwireError.replaced) { try await report(replies, with: reports) }
      #expect(sent.current == [10_000])
    } else {
      try await report(replies, with: reports)
      #expect(sent.current.first == 10_000)
      #expect(try #require(sent.current.last) > stored)
    }
  }

  @Test func `a report with the stored number has arrived before`() async throws {
    defer { try? FileManager.default.removeItem(at: file) }
    try await report([["applied": false, "number": 1_000]])
    #expect(sent.current == [1_000])
  }
}
