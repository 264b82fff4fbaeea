// SPDX-License-Identifier: Apache-2.0
import RelayJSON
import RelayProtocol
import StillwireExtension

/// The newest Focus report that the relay has not answered. It is sent again after a reconnect or a temporary refusal.
struct FocusDesk: Equatable {
  private(set) var report: FocusReport?
  private(set) var ticket: Ticket?
  private var lastNumber: Int64 = 0
  /// The time at which the number of the report was made.
  private var made: Moment?
  /// True if the client does not repeat a report that is not applied: it has done so, or the app has chosen the number.
  private var isLast = false
  private(set) var retry = Retry()

  /// Replaces the report. Returns the caller that waited for the replaced report.
  /// - Parameters:
  ///   - now: The present time by the clocks that measure ages.
  ///   - time: The wall-clock time.
  mutating func reported(_ report: FocusReport, _ ticket: Ticket, at now: Moment, _ time: Timestamp) -> Ticket? {
    let replaced = self.ticket
    var report = report
    // The clock makes the numbers increase across restarts of the app.
    lastNumber = max(lastNumber + 1, time.rawValue)
    made = now
    isLast = report.number != nil
    report.number = report.number ?? lastNumber
    report.at = report.at ?? time
    self.report = report
    self.ticket = ticket
    retry.cancel()
    return replaced
  }

  /// Returns the report to send now, and ends the schedule of a retry.
  mutating func next() -> FocusReport? {
    retry.cancel()
    return report
  }

  /// Returns true if the relay has the report, and false if the client must send it again with a new number.
  mutating func answered(_ reply: JSON, at now: Moment) throws(StillwireError) -> Bool {
    guard let sent = report?.number, let made else { return true }
    let stored = try ReportReply(reply).numberToExceed(
      sent: sent, isNewest: true, isLast: isLast, age: now.since(made))
    guard let stored else { return true }
    lastNumber = stored + 1
    report?.number = lastNumber
    isLast = true
    return false
  }

  /// Schedules a retry after a temporary refusal or a timeout.
  mutating func refused(at now: Duration, retryAfter: Duration, random: Double) {
    retry.schedule(at: now, retryAfter: retryAfter, random: random)
  }

  /// Returns true if the retry is due.
  mutating func timePassed(at now: Duration) -> Bool { retry.timePassed(at: now) }

  /// Forgets the report. Returns the caller that waited for it.
  mutating func ended() -> Ticket? {
    defer {
      report = nil
      retry.succeeded()
      ticket = nil
    }
    return ticket
  }
}
