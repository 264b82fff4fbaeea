// SPDX-License-Identifier: Apache-2.0

/// Everything that a node needs from the servers of the log.
public protocol ClusterLog: ReplicatedLog, SnapshotStore {
  /// Creates the log and the store of snapshots if they do not exist. Returns the state of the log.
  func createStreams() throws(LogUnavailable) -> LogState
  /// Sends a heartbeat to the other nodes. It may get lost.
  func send(_ heartbeat: Heartbeat)
  /// Returns `nil` if the stream does not exist. Throws if it has no leader.
  func condition(of stream: LogStream) throws(LogUnavailable) -> StreamCondition?
}

/// The streams of a cluster.
public enum LogStream: String, Sendable, CaseIterable {
  case log, snapshots
}

/// The servers that store a stream.
public struct StreamReplicas: Hashable, Sendable {
  /// The number of servers that should store each record.
  public let configured: Int
  /// The number of servers that run and have all records.
  public let current: Int
  /// The names of the servers that are not current.
  public let missing: [String]

  public init(configured: Int, current: Int, missing: [String] = []) {
    self.configured = configured
    self.current = current
    self.missing = missing
  }
}

public struct StreamCondition: Hashable, Sendable {
  /// The sequence of the newest message.
  public let last: UInt64
  public let replicas: StreamReplicas

  public init(last: UInt64, replicas: StreamReplicas) {
    self.last = last
    self.replicas = replicas
  }
}

/// The time of a node, and its random numbers. Tests replace it.
public protocol NodeClock: Sendable {
  var reading: PauseDetector.Reading { get }
  /// Waits for this time, at most. Returns false if the node shuts down.
  func wait(_ time: Duration) -> Bool
  /// Returns a random time from 0 up to `limit`.
  func random(upTo limit: Duration) -> Duration
  /// Returns a new unique id.
  func gid() -> String
}

extension NodeClock {
  public var now: ContinuousClock.Instant { reading.clock }
}

/// Computes the SHA-256 of a copy.
public protocol CopyDigest {
  init()
  mutating func update(_ bytes: [UInt8])
  /// Returns 64 hexadecimal digits.
  func finish() -> String
}
