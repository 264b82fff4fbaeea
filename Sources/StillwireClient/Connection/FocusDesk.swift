// SPDX-License-Identifier: Apache-2.0
import RelayProtocol

/// The newest Focus report that the relay has not answered. It is sent again after a reconnect or a temporary refusal.
struct FocusDesk: Equatable {
  private(set) var report: FocusReport?
  private(set) var ticket: Ticket?
  private var lastNumber: Int64 = 0
  private(set) var retryAt: Duration?
  private var backoff = Backoff()

  /// Replaces the report. Returns the caller that waited for the replaced report.
  mutating func reported(_ report: FocusReport, _ ticket: Ticket, at time: Timestamp) -> Ticket? {
    let replaced = self.ticket
    var report = report
    // The clock makes the numbers increase across restarts of the app.
    lastNumber = max(lastNumber + 1, time.rawValue)
    report.number = report.number ?? lastNumber
    report.at = report.at ?? time
    self.report = report
    self.ticket = ticket
    retryAt = nil
    return replaced
  }

  /// Schedules a retry after a temporary refusal.
  mutating func refused(at now: Duration, retryAfter: Duration, random: Double) {
    retryAt = now + backoff.failed(random: random, retryAfter: retryAfter)
  }

  /// Returns true if the retry is due.
  mutating func timePassed(at now: Duration) -> Bool {
    guard let retryAt, retryAt <= now else { return false }
    self.retryAt = nil
    return true
  }

  /// Forgets the report. Returns the caller that waited for it.
  mutating func ended() -> Ticket? {
    defer {
      report = nil
      retryAt = nil
      backoff.succeeded()
      ticket = nil
    }
    return ticket
  }
}
