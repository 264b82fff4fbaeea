// SPDX-License-Identifier: Apache-2.0
import RelayCluster
import Synchronization

/// A log in memory, with faults, for tests of the drivers. It has no delays.
final class TestLog: ClusterLog {
  struct Contents {
    var generation: Int64 = 0
    var model = ModelLog()
    var chunks: [String: [Int: [UInt8]]] = [:]
    var manifest: SnapshotManifest?
    var isDown = false
    /// The store of snapshots was deleted.
    var hasNoStore = false
    /// The servers elect a leader of the store of snapshots.
    var hasNoStoreLeader = false
    /// Nothing makes consumers, so that readers deliver nothing.
    var hasNoConsumers = false
    var replicas: [LogStream: StreamReplicas] = [:]
    /// The number of next manifests that the store accepts without an answer.
    var unansweredManifests = 0
    /// Called before each chunk is stored.
    var onPut: (@Sendable () -> Void)?
    /// The outcomes of the next publishes. The log does not store these records.
    var lost: [PublishOutcome] = []
    /// The number of next publishes that the log stores without an answer.
    var unanswered = 0
    var heartbeats: [Heartbeat] = []
    /// The records that one server has kept, and that the others do not have, by sequence.
    var strays: [UInt64: LogRecord] = [:]
    /// The number of readers so far. Each second one reads from the server with the ``strays``.
    var readers = 0
    /// The number of newest records that the leading server lacks, until another one leads.
    var hidden: UInt64 = 0
    /// True if no other server has the ``hidden`` records.
    var isHiddenEverywhere = false
    var elections = 0
  }

  private let contents = Mutex(Contents())

  func change<Value: Sendable>(_ change: (inout Contents) -> Value) -> Value { contents.withLock { change(&$0) } }

  private func use<Value: Sendable>(_ use: (inout Contents) -> Value) throws(LogUnavailable) -> Value {
    let value: Value? = contents.withLock { $0.isDown ? nil : use(&$0) }
    guard let value else { throw LogUnavailable("the servers are down") }
    return value
  }

  /// The same for the store of snapshots.
  private func useStore<Value: Sendable>(_ use: (inout Contents) -> Value) throws(LogUnavailable) -> Value {
    if change({ $0.hasNoStoreLeader }) { throw LogUnavailable("the store has no leader") }
    return try self.use(use)
  }

  func condition(of stream: LogStream) throws(LogUnavailable) -> StreamCondition? {
    func condition(_ log: inout Contents) -> StreamCondition? {
      log.replicas[stream].map { StreamCondition(last: stream == .log ? log.model.last : 0, replicas: $0) }
    }
    let found: StreamCondition?? =
      try stream == .log ? use { .some(condition(&$0)) } : useStore { .some(condition(&$0)) }
    return found ?? nil
  }

  func createStreams() throws(LogUnavailable) -> LogState {
    _ = try use { if $0.generation == 0 { $0.generation = 7 } }
    return try state()
  }

  func publish(_ record: LogRecord) -> PublishOutcome {
    contents.withLock { log in
      if log.isDown { return .unknown(reason: "the servers are down") }
      if !log.lost.isEmpty { return log.lost.removeFirst() }
      let outcome = log.model.store(record)
      guard log.unanswered > 0 else { return outcome }
      log.unanswered -= 1
      return .unknown(reason: "timeout")
    }
  }

  func read(_ sequence: UInt64) throws(LogUnavailable) -> LogRead { try use { $0.model.read(sequence) } }

  func state() throws(LogUnavailable) -> LogState {
    try use { LogState(generation: $0.generation, first: $0.model.first, last: $0.model.last - $0.hidden) }
  }

  func electAnotherServer() {
    change { log in
      log.elections += 1
      if !log.isHiddenEverywhere { log.hidden = 0 }
    }
  }

  func follow(after sequence: UInt64) throws(LogUnavailable) -> any LogReader {
    let count = try use { log in
      log.readers += 1
      return log.readers
    }
    return Reader(self, after: sequence, readsStrays: count.isMultiple(of: 2))
  }

  func truncate(below sequence: UInt64) throws(LogUnavailable) { try use { $0.model.truncate(below: sequence) } }

  func createSnapshotStream() throws(LogUnavailable) { try useStore { $0.hasNoStore = false } }

  func put(_ chunk: [UInt8], number: Int, of id: String) throws(LogUnavailable) {
    change { $0.onPut }?()
    let isStored = try useStore { log in
      if !log.hasNoStore { log.chunks[id, default: [:]][number] = chunk }
      return !log.hasNoStore
    }
    guard isStored else { throw LogUnavailable("no store") }
  }

  func publish(_ manifest: SnapshotManifest) throws(LogUnavailable) -> SnapshotOutcome {
    let outcome: SnapshotOutcome? = try useStore { log in
      guard log.chunks[manifest.id]?.count == manifest.chunks else { return .rejected(reason: "a chunk is missing") }
      if let old = log.manifest { log.chunks[old.id] = nil }
      log.manifest = manifest
      guard log.unansweredManifests > 0 else { return .published }
      log.unansweredManifests -= 1
      return nil
    }
    guard let outcome else { throw LogUnavailable("timeout") }
    return outcome
  }

  func remove(_ id: String) throws(LogUnavailable) { try useStore { $0.chunks[id] = nil } }

  func newest() throws(LogUnavailable) -> SnapshotManifest? { try useStore { Optional.some($0.manifest) } ?? nil }

  func chunk(_ number: Int, of manifest: SnapshotManifest) throws(LogUnavailable) -> [UInt8]? {
    try useStore { Optional.some($0.chunks[manifest.id]?[number]) } ?? nil
  }

  func send(_ heartbeat: Heartbeat) { contents.withLock { $0.heartbeats.append(heartbeat) } }

  private final class Reader: LogReader {
    private let log: TestLog
    private var last: UInt64
    private let readsStrays: Bool

    init(_ log: TestLog, after sequence: UInt64, readsStrays: Bool) {
      self.log = log
      self.readsStrays = readsStrays
      last = sequence
    }

    func next(max: Int, timeout: Duration) throws(LogUnavailable) -> [LogRead] {
      let state = try log.state()
      var reads: [LogRead] = []
      if log.change({ $0.hasNoConsumers }) { return [] }
      while reads.count < max, last < state.last {
        last = Swift.max(last + 1, state.first)
        let stray = readsStrays ? log.change { [last] in $0.strays[last] } : nil
        if let stray { reads.append(.record(stray)) } else { reads.append(try log.read(last)) }
      }
      return reads
    }
  }
}
