// SPDX-License-Identifier: Apache-2.0

/// A record that does not follow the newest one of a follower's file.
///
/// After a crash of all NATS servers, one of them may keep a record that the others do not have, and a reader may
/// deliver it. The log itself has the record that the leader of the servers returns.
public struct Doubt: Hashable, Sendable {
  public enum Decision: Hashable, Sendable {
    /// The log has another record there, or none. Read from the position of the file again.
    case readAgain
    /// The log has both records, so nodes have broken its rules.
    case stop(Alarm)
  }

  public let sequence: UInt64
  let gid: String
  let alarm: Alarm

  /// - Parameter found: The log's record at ``sequence``.
  public func decide(_ found: LogRead) -> Decision {
    if case .record(let record) = found, record.gid == gid { .stop(alarm) } else { .readAgain }
  }
}

/// The sequences at which a reader of the log has delivered another record than the log has. The node asks the log for
/// these records.
package struct DistrustedSequences: Sendable {
  /// The maximum number of sequences. Each crash of the NATS servers leaves one at most.
  package static let maxCount = 64

  private var sequences: Set<UInt64> = []

  package init() {}

  package mutating func insert(_ sequence: UInt64) {
    if sequences.count == Self.maxCount, let oldest = sequences.min() { sequences.remove(oldest) }
    sequences.insert(sequence)
  }

  /// Replaces the delivered records by those of the log.
  package func correct(_ reads: inout [LogRead], from log: some ReplicatedLog) throws(LogUnavailable) {
    guard !sequences.isEmpty else { return }
    for (index, read) in reads.enumerated() {
      guard case .record(let record) = read, sequences.contains(record.sequence) else { continue }
      reads[index] = try log.read(record.sequence)
    }
  }
}
