// SPDX-License-Identifier: Apache-2.0

/// The last record of the log that a node's file contains. Every transaction of the file writes it.
///
/// The gid identifies the record. Term and sequence do not: a log that lost its tail may assign both again.
public struct LogPosition: Hashable, Sendable {
  /// The time of the log's creation, in nanoseconds since 1970. A log that is deleted and created again has another
  /// generation. Is 0 in a file that has not read a log yet.
  ///
  /// NATS may change the generation of a log, if several nodes requested its creation at once. Then the log has the
  /// record with this gid at this sequence, which proves that it is the same log.
  public var generation: Int64
  /// The newest term that the file has seen. Is 0 before the first term.
  public var term: UInt64
  /// The sequence of the record. Is 0 before the first record.
  public var sequence: UInt64
  /// The gid of the record. Is empty before the first record.
  public var gid: String

  public init(generation: Int64 = 0, term: UInt64 = 0, sequence: UInt64 = 0, gid: String = "") {
    self.generation = generation
    self.term = term
    self.sequence = sequence
    self.gid = gid
  }
}

extension LogPosition: CustomStringConvertible {
  public var description: String { "sequence \(sequence) of term \(term) in generation \(generation)" }
}
