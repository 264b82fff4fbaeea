// SPDX-License-Identifier: Apache-2.0
import RelayCluster
import SeededRandom
import Synchronization

/// Unique ids of records.
final class GidSource: Sendable {
  private let count = Mutex(0)

  func next() -> String {
    let number = count.withLock { count in
      count += 1
      return count
    }
    return "g\(number)"
  }
}

/// A deterministic simulation of a cluster: nodes with the decisions of RelayCluster, a log with faults, and clients.
final class ClusterModel {
  struct Options: Sendable {
    var fault: Fault?
    /// True if a record of a deposed leader may reach the log.
    var hasStaleRecords = false
    /// True if the log loses its newest records once.
    var losesTail = false
  }

  let options: Options
  var random: SeededGenerator
  var log = ModelLog()
  let nodes: [ModelNode]
  var now: Duration = .zero
  private let start = ContinuousClock.now
  var timeOfDayOffset: Duration = .zero
  var logIsDown = false
  /// No faults any more, so that the nodes become equal.
  var isCalm = false
  private var nextRow = 1
  let gids = GidSource()
  /// The rows that a client sent and that no leader has acknowledged.
  private var unacknowledged: [Int] = []
  private(set) var acknowledged: Set<Int> = []
  private var leaders: [UInt64: Int] = [:]
  /// The time at which each term began.
  private var began: [UInt64: Duration] = [:]
  var snapshot: (manifest: SnapshotManifest, file: ModelFile)?
  private(set) var counts: [String: Int] = [:]
  var hasLostTail = false

  init(seed: Int, nodes count: Int = 3, _ options: Options = Options()) {
    self.options = options
    random = SeededGenerator(seed: seed)
    let reading = PauseDetector.Reading(clock: start, timeOfDay: .seconds(1_000_000))
    nodes = (0..<count).map { ModelNode($0, reading) }
  }

  var instant: ContinuousClock.Instant { start + now }
  var reading: PauseDetector.Reading {
    PauseDetector.Reading(clock: instant, timeOfDay: .seconds(1_000_000) + now + timeOfDayOffset)
  }

  func count(_ event: String) { counts[event, default: 0] += 1 }
  func hits(oneIn times: Int) -> Bool { !isCalm && random.hits(oneIn: times) }

  func gid() -> String { gids.next() }

  /// Runs random steps, then ends the faults and compares the nodes.
  func run(steps: Int) throws {
    for _ in 0..<steps { try step() }
    isCalm = true
    logIsDown = false
    for node in nodes {
      node.pausedUntil = .zero
      node.isCutOff = false
      if node.alarm != nil {
        node.crash()
        node.file = ModelFile()
      }
    }
    for _ in 0..<6_000 { try step() }
    try checkEnd()
  }

  func step() throws {
    now += .milliseconds(random.below(12))
    if began[log.term] == nil { began[log.term] = now }
    if random.hits(oneIn: 4) { try beClient() }
    if !isCalm, random.hits(oneIn: 20) { try beFault() }
    if !log.late.isEmpty, random.hits(oneIn: 10) {
      _ = log.store(log.late.remove(at: random.below(log.late.count)))
      try checkDoubled()
    }
    let node = nodes[random.below(nodes.count)]
    if isCalm, let alarm = node.alarm { try rebuild(node, after: alarm) }
    if node.isDown, isCalm || random.hits(oneIn: 30) { restart(node) }
    guard now >= node.pausedUntil else { return }
    try act(node)
  }

  // MARK: Clients

  private func beClient() throws {
    guard let node = nodes.filter(\.isLeader).randomElement(using: &random) else { return }
    switch random.below(4) {
    case 0 where !isCalm:
      unacknowledged.append(nextRow)
      node.queue.append(nextRow)
      nextRow += 1
    case 1: if let row = unacknowledged.randomElement(using: &random) { node.queue.append(row) }
    default: try read(node)
    }
  }

  /// A client reads from a node that believes that it leads.
  private func read(_ node: ModelNode) throws {
    guard case .leader(let leader) = node.role, now >= node.pausedUntil else { return }
    let needsCheck = node.detector.observed(reading)
    if needsCheck, options.fault != .answersWhenDeposed { return count("refused read") }
    if let deposed = began[leader.position.term + 1], !hasLostTail,
      deposed <= node.resumed || now >= deposed + PauseDetector.maxAge
    {
      throw Violation("node \(node.index) of term \(leader.position.term) answers too late, in term \(log.term)")
    }
    count("read")
  }

  /// A leader acknowledges a row, and runs its side effect.
  func acknowledge(_ row: Int, _ node: ModelNode, term: UInt64) throws {
    try act(for: row, node)
    if let other = leaders[term], other != node.index, !hasLostTail {
      throw Violation("nodes \(other) and \(node.index) acknowledge in term \(term)")
    }
    leaders[term] = node.index
    if log.rows.contains(row) { acknowledged.insert(row) }
    unacknowledged.removeAll { $0 == row }
    count("acknowledged")
  }

  /// A side effect, such as a push. Its claim must be in the log.
  func act(for row: Int, _ node: ModelNode) throws {
    // A node that has not noticed the loss of the tail may still act for rows that were in the log.
    guard log.rows.contains(row) || (hasLostTail && node.file.rows.contains(row)) else {
      throw Violation("node \(node.index) acts for row \(row), which is not in the log")
    }
  }

  // MARK: Faults

  private func beFault() throws {
    let node = nodes[random.below(nodes.count)]
    switch random.below(100) {
    case 0..<6 where !node.isDown && node.alarm == nil:
      count("crash")
      node.crash()
    case 6..<12: pause(node, .milliseconds(10 + random.below(300)))
    case 12..<15: pause(node, .milliseconds(400 + random.below(800)))
    case 15..<18: pause(node, .milliseconds(1_000 + random.below(5_000)))
    case 18..<21: logIsDown = true
    case 21..<50: logIsDown = false
    case 50..<54: log.forgetIDs()
    case 54..<58: timeOfDayOffset += .milliseconds(random.below(20_000) - 10_000)
    case 58..<66: try publishSnapshot(node)
    case 66..<70: if let snapshot { log.truncate(below: snapshot.manifest.position.sequence) }
    case 70..<72 where options.hasStaleRecords && log.term > 1: publishStale()
    case 72 where options.losesTail && !hasLostTail && log.last > 50: loseTail()
    case 73..<80: if let alarm = node.alarm { try rebuild(node, after: alarm) }
    case 80..<83:
      count("cut off")
      node.isCutOff = true
      node.needsCheck = true
    case 83..<93: node.isCutOff = false
    default: break
    }
  }

  private func pause(_ node: ModelNode, _ time: Duration) {
    guard !node.isDown, now >= node.pausedUntil else { return }
    count("pause")
    node.pausedUntil = now + time
    if time >= PauseDetector.limit { node.resumed = node.pausedUntil }
  }

  /// A record of a program that does not follow the rules.
  private func publishStale() {
    let row = 1_000_000 + Int(log.last)
    let content = LogRecord.Content.rows(Array("\(row)".utf8))
    _ = log.store(LogRecord(sequence: log.last + 1, term: log.term - 1, gid: gid(), content: content))
    count("stale record")
  }

  private func loseTail() {
    hasLostTail = true
    count("lost tail")
    // Not the records that the snapshot needs.
    let spare = Int(log.last - max(log.first, snapshot?.manifest.position.sequence ?? 0))
    log.loseTail(min(spare, 1 + random.below(20)))
    log.late = []
    acknowledged.formIntersection(log.rows)
    leaders = leaders.filter { $0.key <= log.term }
    // The servers have restarted.
    for node in nodes { node.needsCheck = true }
  }

  /// The operator lets a stopped node load the cluster's data.
  private func rebuild(_ node: ModelNode, after alarm: Alarm) throws {
    guard hasLostTail else { throw Violation("node \(node.index) stopped: \(alarm)") }
    count("rebuild")
    node.crash()
    node.file = ModelFile()
  }

  private func publishSnapshot(_ node: ModelNode) throws {
    guard case .follower = node.role, node.file.position.sequence > snapshot?.manifest.position.sequence ?? 0,
      node.file.position.sequence <= log.last
    else { return }
    var position = node.file.position
    if options.fault == .staleSnapshot {
      position.sequence = log.last
      position.term = log.term
      if case .record(let record) = log.read(log.last) { position.gid = record.gid }
    }
    // A node that has not noticed the loss of the log's tail must not publish its file.
    guard case .record(let newest) = log.read(position.sequence), newest.gid == position.gid else { return }
    let manifest = SnapshotManifest(
      id: "node\(node.index).x", position: position, size: 1, hash: String(repeating: "0", count: 64))
    snapshot = (manifest, node.file)
    count("snapshot")
  }

  // MARK: Invariants

  func checkDoubled() throws {
    if let row = log.doubled { throw Violation("row \(row) is in the log twice") }
  }

  /// Compares a file with the log, after each of its transactions.
  func checkFile(_ node: ModelNode) throws {
    let position = node.file.position
    guard !hasLostTail else { return }
    guard position.sequence <= log.last else {
      throw Violation("node \(node.index) is at \(position.sequence), ahead of the log at \(log.last)")
    }
    guard node.file.hash == log.hashes[Int(position.sequence)] else {
      throw Violation("node \(node.index) differs from the log at \(position.sequence)")
    }
  }

  private func checkEnd() throws {
    try checkDoubled()
    let lost = acknowledged.subtracting(log.rows)
    guard lost.isEmpty else { throw Violation("acknowledged rows are lost: \(lost.sorted())") }
    for node in nodes {
      if let alarm = node.alarm { throw Violation("node \(node.index) stopped: \(alarm)") }
      guard node.file.hash == log.hashes[Int(node.file.position.sequence)] else {
        throw Violation("node \(node.index) differs at the end, at \(node.file.position) of \(log.last)")
      }
      guard node.file.position.sequence + 20 >= log.last else {
        throw Violation("node \(node.index) does not catch up: \(node.file.position) of \(log.last)")
      }
    }
    guard nodes.contains(where: { $0.isLeader && $0.file.position.term == log.term }) else {
      throw Violation("no node leads at the end")
    }
  }
}
