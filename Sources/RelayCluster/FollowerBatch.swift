// SPDX-License-Identifier: Apache-2.0

/// The records that a follower applies in one transaction.
public struct FollowerBatch: Hashable, Sendable {
  /// The action after the transaction.
  public enum Next: Hashable, Sendable {
    /// Read the next records.
    case read
    /// Run this migration, which has its own transactions. Then write this position.
    case migrate(String, LogPosition)
    case loadSnapshot
    case doubt(Doubt)
    case stop(Alarm)
  }

  /// The maximum number of records in one transaction.
  public static let maxRecords = 200
  /// The size of the bodies, in bytes, at which a transaction ends.
  public static let maxBytes = 4 << 20

  /// The bodies to apply, in order, with their sequences.
  public struct Rows: Hashable, Sendable {
    public let sequence: UInt64
    public let body: [UInt8]
  }

  public private(set) var rows: [Rows] = []
  /// The position to write in the same transaction. Is `nil` if no record was new; then no transaction is needed.
  public private(set) var position: LogPosition?
  /// The leader of the newest term, if one of the records began a term.
  public private(set) var leader: Leader?
  /// The number of records that a deposed leader wrote.
  public private(set) var skipped = 0
  public private(set) var next = Next.read
  /// The records that the batch used. The caller passes the others to the next batch.
  public private(set) var used = 0

  /// Plans the next transaction. Afterwards `step` has the position after it. If the transaction fails, the caller
  /// makes a new step with the position of the file.
  public init(_ reads: some Sequence<LogRead>, _ step: inout FollowerStep) {
    var size = 0
    for read in reads.prefix(Self.maxRecords) where isOpen(size) {
      used += 1
      switch step.received(read) {
      case .apply(let body):
        rows.append(Rows(sequence: step.position.sequence, body: body))
        size += body.count
        position = step.position
      case .follow(let leader):
        self.leader = leader
        position = step.position
      case .skip:
        skipped += 1
        position = step.position
      case .advance: position = step.position
      case .migrate(let name): next = .migrate(name, step.position)
      // `received` never returns these.
      case .ignore, .wait, .elect, .raise, .diverged: break
      case .doubt(let doubt): next = .doubt(doubt)
      case .loadSnapshot: next = .loadSnapshot
      case .stop(let alarm): next = .stop(alarm)
      }
    }
  }

  private func isOpen(_ size: Int) -> Bool { next == .read && size < Self.maxBytes }
}
