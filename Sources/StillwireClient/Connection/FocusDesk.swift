// SPDX-License-Identifier: Apache-2.0
import RelayProtocol

/// The newest report of the Focus that the relay has not answered.
struct FocusDesk: Equatable {
  private(set) var report: FocusReport?
  private(set) var ticket: Ticket?
  private var lastNumber: Int64 = 0
  private(set) var retryAt: Duration?
  private var backoff = Backoff()

  /// Returns who waited for a report that is told no longer.
  mutating func reported(_ report: FocusReport, _ ticket: Ticket, at time: Timestamp) -> Ticket? {
    let replaced = self.ticket
    var report = report
    // The clock keeps the number rising over restarts of the app.
    lastNumber = max(lastNumber + 1, time.rawValue)
    report.number = report.number ?? lastNumber
    report.at = report.at ?? time
    self.report = report
    self.ticket = ticket
    retryAt = nil
    return replaced
  }

  /// It is refused for a while.
  mutating func refused(at now: Duration, retryAfter: Duration, random: Double) {
    retryAt = now + backoff.failed(random: random, retryAfter: retryAfter)
  }

  /// Whether it is to be told again.
  mutating func timePassed(at now: Duration) -> Bool {
    guard let retryAt, retryAt <= now else { return false }
    self.retryAt = nil
    return true
  }

  /// Returns who waited for it.
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
