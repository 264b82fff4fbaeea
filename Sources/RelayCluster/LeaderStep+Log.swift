// SPDX-License-Identifier: Apache-2.0

/// Performs the decisions of a leader on a log.
extension LeaderStep {
  /// Begins a group whose transaction is open, and blocks the calling thread until the log has decided it. This may
  /// take as long as NATS is not available.
  /// - Parameters:
  ///   - wait: Waits for this time, at most. Returns false if the node shuts down.
  ///   - onUnknown: Receives the reason of each request without an answer, for the operator's log.
  /// - Returns: `.commit`, `.rollBack` or `.stop`. Returns `nil` if the node shuts down before a decision: close the
  ///   file without COMMIT. The next start applies the group if the log contains it.
  public mutating func decide(
    _ content: LogRecord.Content, gid: String, time: Duration, on log: some ReplicatedLog, wait: (Duration) -> Bool,
    onUnknown: (_ reason: String) -> Void = { _ in }
  ) -> Action? {
    var action = begin(content, gid: gid, time: time)
    while true {
      switch action {
      case .publish(let record, let pause):
        guard pause == .zero || wait(pause) else { return nil }
        let outcome = log.publish(record)
        if case .unknown(let reason) = outcome { onUnknown(reason) }
        action = published(outcome)
      case .read(let sequence, let pause):
        guard pause == .zero || wait(pause) else { return nil }
        action = found(answer(onUnknown) { () throws(LogUnavailable) in try log.read(sequence) })
      case .inspect(let pause):
        guard pause == .zero || wait(pause) else { return nil }
        action = inspected(answer(onUnknown) { () throws(LogUnavailable) in try log.state() })
      case .commit, .rollBack, .reopen, .stop: return action
      }
    }
  }

  /// Returns `nil` and reports the reason if there is no answer.
  private func answer<Value>(
    _ onUnknown: (_ reason: String) -> Void, _ request: () throws(LogUnavailable) -> Value
  ) -> Value? {
    do {
      return try request()
    } catch {
      onUnknown(error.reason)
      return nil
    }
  }
}
