// SPDX-License-Identifier: Apache-2.0
package import RelayJSON
import RelayProtocol

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
  ///   - age: The time since the number was made, by a monotonic clock.
  package func numberToExceed(
    sent: Int64, isNewest: Bool, isLast: Bool, age: Duration
  ) throws(StillwireError) -> Int64? {
    let stored = reply["number"]?.integer
    guard reply["applied"]?.flag == false, stored != sent else { return nil }
    guard let stored, (0..<ReportNumber.maxNumber).contains(stored), !isLast else { throw .notApplied }
    // A report that another process has made since has a number up to this one. The clocks count whole milliseconds. A
    // higher stored number comes from a report that this device sent while its clock was ahead.
    let newest = sent + age.milliseconds + 1
    guard isNewest, !(sent < stored && stored <= newest) else { throw .replaced }
    return max(sent, stored)
  }
}

/// Sends the reports of one type of this device over HTTP. Copies share the number of the newest report.
struct NumberedReports: Sendable {
  let number: ReportNumber
  private let now: @Sendable () -> ContinuousClock.Instant
  private let newest = Locked<Int64>(0)

  init(_ number: ReportNumber, now: @escaping @Sendable () -> ContinuousClock.Instant = { .now }) {
    self.number = number
    self.now = now
  }

  /// Sends a report. Repeats it once if the relay has not applied it although it is the newest one.
  /// - Parameter send: Sends the report with a number, and returns the relay's reply.
  func report(_ send: (Int64) async throws -> JSON) async throws -> JSON {
    let made = now()
    let first = begin(above: 0)
    let reply = try await send(first)
    guard let stored = try check(reply, first, isLast: false, age: made.duration(to: now())) else { return reply }
    let second = begin(above: stored)
    let again = try await send(second)
    _ = try check(again, second, isLast: true, age: .zero)
    return again
  }

  private func begin(above stored: Int64) -> Int64 {
    let next = number.nextOrTime(above: stored)
    newest.withLock { $0 = max($0, next) }
    return next
  }

  private func check(_ reply: JSON, _ sent: Int64, isLast: Bool, age: Duration) throws(StillwireError) -> Int64? {
    try ReportReply(reply).numberToExceed(sent: sent, isNewest: newest.current == sent, isLast: isLast, age: age)
  }
}
