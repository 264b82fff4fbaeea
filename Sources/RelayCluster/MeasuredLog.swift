// SPDX-License-Identifier: Apache-2.0

/// A log that reports the result and the duration of each publish.
struct MeasuredLog: ReplicatedLog {
  let log: any ClusterLog
  let onPublished: @Sendable (PublishOutcome, Duration) -> Void

  func publish(_ record: LogRecord) -> PublishOutcome {
    let began = ContinuousClock.now
    let outcome = log.publish(record)
    onPublished(outcome, ContinuousClock.now - began)
    return outcome
  }

  func read(_ sequence: UInt64) throws(LogUnavailable) -> LogRead { try log.read(sequence) }
  func state() throws(LogUnavailable) -> LogState { try log.state() }
  func follow(after sequence: UInt64) throws(LogUnavailable) -> any LogReader { try log.follow(after: sequence) }
  func truncate(below sequence: UInt64) throws(LogUnavailable) { try log.truncate(below: sequence) }
  func electAnotherServer() { log.electAnotherServer() }
}
