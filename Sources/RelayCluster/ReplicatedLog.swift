// SPDX-License-Identifier: Apache-2.0

/// The result of a publish.
public enum PublishOutcome: Hashable, Sendable {
  /// The log has stored the record, now or at an earlier attempt.
  case stored(UInt64)
  /// The log's last sequence is not the expected one.
  case rejected
  /// No clear answer: a timeout, a disconnect, or any other error. The log may have stored the record, or may still
  /// store it later.
  case unknown(reason: String)
}

/// The result of reading one record.
public enum LogRead: Hashable, Sendable {
  case record(LogRecord)
  /// The log has no record with this sequence.
  case missing
  case invalid(RecordError)
}

/// The result of publishing the manifest of a snapshot.
public enum SnapshotOutcome: Hashable, Sendable {
  case published
  /// The store will never accept this manifest.
  case rejected(reason: String)
}

public struct LogState: Hashable, Sendable {
  /// See ``LogPosition/generation``. Is 0 if the log does not exist.
  public let generation: Int64
  /// The sequence of the oldest record. Is ``last`` + 1 in an empty log.
  public let first: UInt64
  /// Is 0 before the first record.
  public let last: UInt64
  /// The size of the records that the log has, in bytes.
  public let bytes: UInt64

  public init(generation: Int64, first: UInt64, last: UInt64, bytes: UInt64 = 0) {
    self.bytes = bytes
    self.generation = generation
    self.first = first
    self.last = last
  }
}

/// No answer from the log. The caller tries again later.
public struct LogUnavailable: Error, Hashable, Sendable, CustomStringConvertible {
  public let reason: String
  public init(_ reason: String) { self.reason = reason }
  public var description: String { "the log is not available: \(reason)" }
}

/// A log that orders records by compare-and-set.
///
/// Threads: each method may be called on any thread, and blocks its caller until there is an answer or a timeout. A
/// node publishes one record at a time.
public protocol ReplicatedLog: Sendable {
  /// Stores the record if the last sequence of the log is the one before the record's.
  func publish(_ record: LogRecord) -> PublishOutcome
  /// Reads a record from the leader of the log, never from a copy that may be older.
  func read(_ sequence: UInt64) throws(LogUnavailable) -> LogRead
  func state() throws(LogUnavailable) -> LogState
  /// Delivers the records after `sequence`, in order.
  func follow(after sequence: UInt64) throws(LogUnavailable) -> any LogReader
  /// Removes the records below `sequence`.
  func truncate(below sequence: UInt64) throws(LogUnavailable)
  /// Asks the servers to let another one of them lead the log. Does nothing if they cannot, or do not answer.
  func electAnotherServer()
}

extension ReplicatedLog {
  /// True if the log has the record of this position.
  public func contains(_ position: LogPosition) throws(LogUnavailable) -> Bool {
    if case .record(let record) = try read(position.sequence) { record.gid == position.gid } else { false }
  }

  /// True if a position is of the log of another one, which is of this log.
  public func isSame(_ one: LogPosition, _ other: LogPosition) throws(LogUnavailable) -> Bool {
    if one.generation == other.generation { return true }
    return try contains(one)
  }

  /// The state, with the generation of this position if the log has its record.
  func state(for position: LogPosition) throws(LogUnavailable) -> LogState {
    let state = try state()
    guard state.generation != position.generation, try contains(position) else { return state }
    return LogState(generation: position.generation, first: state.first, last: state.last, bytes: state.bytes)
  }
}

/// Delivers records in order. Belongs to one thread.
public protocol LogReader: AnyObject {
  /// The reason why the reader reads single records. Is `nil` if it has a consumer.
  var obstacle: String? { get }
  /// Returns the next records, at most `max`, and fewer if they are large. Returns an empty array if there is none
  /// within `timeout`. After an error the caller opens a new reader.
  func next(max: Int, timeout: Duration) throws(LogUnavailable) -> [LogRead]
}

extension LogReader {
  public var obstacle: String? { nil }
}

/// The copies of a node's file, for nodes that cannot start from the log.
///
/// The id of a copy has two parts: the node's name, a dot, and a unique part.
///
/// Threads: as in ``ReplicatedLog``.
public protocol SnapshotStore: Sendable {
  /// Creates the store if it does not exist.
  func createSnapshotStream() throws(LogUnavailable)
  /// Stores chunk `number`, from 0, of the copy `id`. Chunks are stored in order.
  func put(_ chunk: [UInt8], number: Int, of id: String) throws(LogUnavailable)
  /// Publishes a copy whose chunks are all stored, and removes older copies. Rejects a copy with a missing chunk, and a
  /// copy whose position is not in the log. After an error the outcome is unknown.
  func publish(_ manifest: SnapshotManifest) throws(LogUnavailable) -> SnapshotOutcome
  /// Removes the chunks of a copy that is not published.
  func remove(_ id: String) throws(LogUnavailable)
  /// Returns `nil` if no copy was published. Throws if the manifest is not readable.
  func newest() throws(LogUnavailable) -> SnapshotManifest?
  /// Returns chunk `number` of a copy. Returns `nil` if it was removed because there is a newer copy.
  func chunk(_ number: Int, of manifest: SnapshotManifest) throws(LogUnavailable) -> [UInt8]?
}
