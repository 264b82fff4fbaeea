// SPDX-License-Identifier: Apache-2.0
package import RelayJSON

/// The reply of the relay to a Focus or filter report.
package struct ReportReply {
  private let reply: JSON

  package init(_ reply: JSON) { self.reply = reply }

  /// Returns `nil` if the relay has the report, otherwise the number that the repeated report must exceed. Throws
  /// `replaced` after a newer report of this device, and `notApplied` if the report cannot be repeated.
  /// - Parameters:
  ///   - sent: The number of the report.
  ///   - isNewest: False if the client has made a newer report since.
  ///   - isLast: True if no further repetition is allowed: this is one, or the app has chosen the number.
  ///   - time: The wall-clock time in milliseconds since 1970.
  package func numberToExceed(
    sent: Int64, isNewest: Bool, isLast: Bool, time: Int64
  ) throws(StillwireError) -> Int64? {
    let stored = reply["number"]?.integer
    guard reply["applied"]?.flag == false, stored != sent else { return nil }
    guard let stored, (0..<ReportNumber.maxNumber).contains(stored), !isLast else { throw .notApplied }
    // A stored number above the present time comes from a report that this device sent while its clock was ahead.
    guard isNewest, !(sent < stored && stored <= time) else { throw .replaced }
    return max(sent, stored)
  }
}

/// Sends the reports of one type of this device over HTTP. Copies share the number of the newest report.
struct NumberedReports: Sendable {
  let number: ReportNumber
  private let newest = Locked<Int64>(0)

  init(_ number: ReportNumber) { self.number = number }

  /// Sends a report. Repeats it once if the relay has not applied it although it is the newest one.
  /// - Parameter send: Sends the report with a number, and returns the relay's reply.
  func report(_ send: (Int64) async throws -> JSON) async throws -> JSON {
    let first = begin(above: 0)
    let reply = try await send(first)
    guard let stored = try check(reply, first, isLast: false) else { return reply }
    let second = begin(above: stored)
    let again = try await send(second)
    _ = try check(again, second, isLast: true)
    return again
  }

  private func begin(above stored: Int64) -> Int64 {
    let next = number.nextOrTime(above: stored)
    newest.withLock { $0 = max($0, next) }
    return next
  }

  private func check(_ reply: JSON, _ sent: Int64, isLast: Bool) throws(StillwireError) -> Int64? {
    try ReportReply(reply).numberToExceed(
      sent: sent, isNewest: newest.current == sent, isLast: isLast, time: number.time)
  }
}
