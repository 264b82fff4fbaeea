// SPDX-License-Identifier: Apache-2.0

/// Decides when a node that does not lead connects to NATS again, although its connection is open. Pure.
///
/// A server of NATS 2.9.10 may accept connections and answer no request, while the other servers work. cnats 3.4.1 cannot
/// select another server, so the process begins again.
struct LogSilence {
  /// The time without an answer after which the node begins again. It is longer than an election of NATS.
  static let patience = Duration.seconds(20)

  private var since: ContinuousClock.Instant?

  /// - Parameter isSilent: True if the last request to the log had no answer.
  /// - Returns: True if the log has been silent for ``patience``.
  mutating func isTooLong(isSilent: Bool, at now: ContinuousClock.Instant) -> Bool {
    guard isSilent else {
      since = nil
      return false
    }
    since = since ?? now
    return since.map { now - $0 >= Self.patience } ?? false
  }
}
