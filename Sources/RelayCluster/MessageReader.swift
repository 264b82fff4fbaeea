// SPDX-License-Identifier: Apache-2.0

/// Reads the log record by record, while no consumer can be made, or when a node has to read the last records now.
///
/// The server that leads the log answers each read. A consumer needs the leader of all servers, too.
public final class MessageReader: LogReader {
  private let log: any ReplicatedLog
  /// The sequence of the last record that was delivered.
  public private(set) var last: UInt64
  private let wait: (Duration) -> Void

  /// The time between two requests for the state of a log without new records.
  public static let interval = Duration.milliseconds(100)

  /// - Parameter wait: Waits for this time, at most.
  public init(_ log: any ReplicatedLog, after sequence: UInt64, wait: @escaping (Duration) -> Void) {
    self.log = log
    last = sequence
    self.wait = wait
  }

  public func next(max: Int, timeout: Duration) throws(LogUnavailable) -> [LogRead] {
    var state = try log.state()
    if state.last <= last {
      wait(min(timeout, Self.interval))
      state = try log.state()
    }
    var reads: [LogRead] = []
    var size = 0
    // A truncated log continues with its first record.
    var sequence = Swift.max(last + 1, state.first)
    while reads.count < max, size < FollowerBatch.maxBytes, sequence <= state.last {
      let read = try log.read(sequence)
      if case .record(let record) = read { size += record.body.count }
      reads.append(read)
      last = sequence
      sequence += 1
    }
    return reads
  }
}
