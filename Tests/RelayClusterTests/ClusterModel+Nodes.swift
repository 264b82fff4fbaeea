// SPDX-License-Identifier: Apache-2.0
import RelayCluster
import SeededRandom

/// The turns of the nodes: each performs one action, so that faults happen between any two.
extension ClusterModel {
  func restart(_ node: ModelNode) {
    count("restart")
    node.detector = PauseDetector(reading)
    follow(node)
  }

  /// Makes the node a follower that first compares its file with the log.
  private func follow(_ node: ModelNode) {
    let jitter = Duration.milliseconds(random.below(300))
    let step = FollowerStep(position: node.file.position)
    // The silence of the leader may have begun before the comparison, or at it.
    let since = random.hits(oneIn: 2) ? instant - .milliseconds(random.below(2_000)) : nil
    let takeover = Takeover(node.leader, at: instant, since: since, jitter: { jitter }, gid: { [gids] in gids.next() })
    node.role = .follower(step, takeover)
    node.pending = nil
    node.open = nil
    node.second = nil
    node.queue = []
    node.needsCheck = true
  }

  func act(_ node: ModelNode) throws {
    switch node.role {
    case .down, .stopped: return
    case .follower(let step, let takeover): try act(node, step, takeover)
    case .leader(let leader): try act(node, leader)
    }
  }

  // MARK: The log as a node sees it

  private func publish(_ record: LogRecord, _ node: ModelNode) -> PublishOutcome {
    guard !logIsDown, !node.isCutOff else { return .unknown(reason: "down") }
    switch isCalm ? 0 : random.below(20) {
    case 0..<14: return log.store(record)
    case 14:
      _ = log.store(record)
      return .unknown(reason: "the answer is lost")
    case 15, 16:
      log.late.append(record)
      return .unknown(reason: "timeout")
    case 17:
      log.late.append(record)
      return log.store(record)
    default: return .unknown(reason: "the request is lost")
    }
  }

  private func hasAnswer(_ node: ModelNode) -> Bool { !logIsDown && !node.isCutOff && !hits(oneIn: 10) }

  private func read(_ sequence: UInt64, _ node: ModelNode) -> LogRead? {
    hasAnswer(node) ? log.read(sequence) : nil
  }

  private func state(_ node: ModelNode) -> LogState? { hasAnswer(node) ? log.state : nil }

  // MARK: Leaders

  private func act(_ node: ModelNode, _ current: LeaderStep) throws {
    var leader = current
    defer { if node.isLeader { node.role = .leader(leader) } }
    let needsCheck = node.detector.observed(reading)
    if now - node.lastHeartbeat >= .milliseconds(200) { sendHeartbeat(node, leader) }
    if leader.isIdle, !isCalm, hits(oneIn: 500) {
      count("step-down")
      sendHeartbeat(node, leader, isLeaving: true)
      node.crash()
      return restart(node)
    }
    if let row = node.completions.popLast() { return try acknowledge(row, node, term: leader.position.term) }
    guard let pending = node.pending else {
      return try begin(node, &leader, isForced: needsCheck)
    }
    guard now >= node.earliest else { return }
    node.pending = nil
    switch pending {
    case .leader(let action): try perform(action, node, &leader)
    case .published(let outcome):
      set(node, leader.published(outcome))
    case .found(let read): set(node, leader.found(read))
    case .inspected(let state): set(node, leader.inspected(state))
    case .takeover: preconditionFailure("a leader takes nothing over")
    }
  }

  private func sendHeartbeat(_ node: ModelNode, _ leader: LeaderStep, isLeaving: Bool = false) {
    node.lastHeartbeat = now
    let heartbeat = Heartbeat(
      term: leader.position.term, sequence: leader.position.sequence, leader: node.leader, isLeaving: isLeaving)
    guard !node.isCutOff else { return }
    for other in nodes where other !== node && !other.isCutOff && !hits(oneIn: 10) {
      other.heartbeats.append(heartbeat)
    }
  }

  private func begin(_ node: ModelNode, _ leader: inout LeaderStep, isForced: Bool) throws {
    if node.needsCheck { leader.disconnected() }
    node.needsCheck = false
    while let row = node.queue.first {
      node.queue.removeFirst()
      // The idempotency key: the client sent the row before, and the file contains it.
      if node.file.rows.contains(row) {
        node.completions.append(row)
        continue
      }
      node.open = row
      if options.fault == .actsBeforeClaim { try act(for: row, node) }
      if options.fault == .commitsFirst { try commitEarly(row, node, leader) }
      if options.fault == .twoPublishes { takeSecond(node, leader) }
      return set(node, leader.begin(.rows(Array("\(row)".utf8)), gid: gid()))
    }
    if isForced || now - node.lastGroup >= .seconds(1) { set(node, leader.begin(.noop, gid: gid())) }
  }

  private func commitEarly(_ row: Int, _ node: ModelNode, _ leader: LeaderStep) throws {
    _ = node.file.insert(row)
    node.file.position.sequence = leader.position.sequence + 1
    try checkFile(node)
  }

  /// The fault of two publishes in flight: the next group is published without the answer for this one.
  private func takeSecond(_ node: ModelNode, _ leader: LeaderStep) {
    guard let row = node.queue.first, row != node.open, !node.file.rows.contains(row) else { return }
    node.queue.removeFirst()
    let record = LogRecord(
      sequence: leader.position.sequence + 2, term: leader.position.term, gid: gid(),
      content: .rows(Array("\(row)".utf8)))
    node.second = (record, row, nil)
  }

  private func set(_ node: ModelNode, _ action: LeaderStep.Action) {
    node.pending = .leader(action)
    switch action {
    case .publish(_, let pause), .read(_, let pause), .inspect(let pause): node.earliest = now + pause
    case .commit, .rollBack, .reopen, .stop: node.earliest = now
    }
  }

  private func perform(_ action: LeaderStep.Action, _ node: ModelNode, _ leader: inout LeaderStep) throws {
    switch action {
    case .publish(let record, _):
      node.began = reading
      node.pending = .published(publish(record, node))
      if let second = node.second, second.outcome == nil { node.second?.outcome = publish(second.record, node) }
    case .read(let sequence, _): node.pending = .found(read(sequence, node))
    case .inspect: node.pending = .inspected(state(node))
    case .commit(let position): try commit(position, node, &leader)
    case .rollBack:
      count("rolled back")
      if let second = node.second, second.outcome == .stored(second.record.sequence) {
        try acknowledge(second.row, node, term: leader.position.term)
      }
      follow(node)
    case .reopen: follow(node)
    case .stop(let alarm): stop(node, alarm)
    }
  }

  private func commit(_ position: LogPosition, _ node: ModelNode, _ leader: inout LeaderStep) throws {
    if hits(oneIn: 200) {
      // COMMIT fails.
      return set(node, leader.commitFailed())
    }
    if let row = node.open {
      if options.fault != .commitsFirst, !node.file.insert(row) { throw Violation("row \(row) is committed twice") }
      node.completions.append(row)
    }
    if let second = node.second { node.queue.insert(second.row, at: 0) }
    node.file.position = position
    node.open = nil
    node.second = nil
    node.lastGroup = now
    leader.committed()
    if leader.provesLeadership { node.detector.confirmed(began: node.began, now: reading) }
    try checkDoubled()
    try checkFile(node)
  }

  private func stop(_ node: ModelNode, _ alarm: Alarm) {
    count("stopped: \(alarm.code)")
    node.crash()
    node.role = .stopped(alarm)
  }

  // MARK: Followers

  private func act(_ node: ModelNode, _ step: FollowerStep, _ takeover: Takeover) throws {
    var (step, takeover) = (step, takeover)
    for heartbeat in node.heartbeats where heartbeat.term >= step.position.term {
      takeover.received(heartbeat, at: instant)
    }
    node.heartbeats = []
    node.role = .follower(step, takeover)
    if node.needsCheck, !takeover.isPublishing {
      guard check(node, &step, takeover) else { return }
      node.needsCheck = false
    }
    if !takeover.isPublishing, try !apply(node, &step, &takeover) { return }
    let action = try takeoverAction(node, step, &takeover)
    guard case .follower = node.role else { return }
    node.role = .follower(step, takeover)
    if let action { try perform(action, node) }
  }

  /// Compares the file with the log. Returns false if the follower must not read records.
  private func check(_ node: ModelNode, _ step: inout FollowerStep, _ takeover: Takeover) -> Bool {
    guard let state = state(node) else { return false }
    let decision = step.check(state, newest: log.read(step.position.sequence))
    node.file.position.generation = step.position.generation
    // The step counts the answers that lack records.
    node.role = .follower(step, takeover)
    switch decision {
    case .advance: return true
    case .loadSnapshot, .diverged: load(node)
    case .stop(let alarm), .raise(let alarm, _): stop(node, alarm)
    case .wait, .elect, .apply, .migrate, .follow, .skip, .ignore, .doubt: break
    }
    return false
  }

  /// Applies some records in one transaction. Returns false if the node must not take over now.
  private func apply(_ node: ModelNode, _ step: inout FollowerStep, _ takeover: inout Takeover) throws -> Bool {
    guard !logIsDown, !node.isCutOff else { return true }
    let batch = FollowerBatch(nextReads(step), &step)
    if batch.leader != nil { takeover.leaderSeen(at: instant) }
    guard try commit(batch, node) else {
      follow(node)
      return false
    }
    node.role = .follower(step, takeover)
    switch batch.next {
    case .read, .migrate: return true
    case .loadSnapshot: load(node)
    // A node that has not noticed the loss of the log's tail.
    case .doubt: node.needsCheck = true
    case .stop(let alarm): stop(node, alarm)
    }
    return false
  }

  /// The next records, as a reader delivers them.
  private func nextReads(_ step: FollowerStep) -> [LogRead] {
    let last = step.position.sequence
    var reads: [LogRead] = []
    // A reader that was cut off may deliver a record twice.
    if hits(oneIn: 20), case .record = log.read(last) { reads.append(log.read(last)) }
    guard last < log.last else { return reads }
    for sequence in (last + 1)...min(log.last, last + 1 + UInt64(random.below(5))) {
      // A truncated log continues with its first record.
      reads.append(changed(log.read(max(sequence, log.first)), step))
    }
    return reads
  }

  /// The fault: the term is not compared.
  private func changed(_ read: LogRead, _ step: FollowerStep) -> LogRead {
    guard options.fault == .appliesLowerTerm, case .record(let record) = read, record.term < step.position.term,
      record.kind == .rows
    else { return read }
    return .record(
      LogRecord(
        sequence: record.sequence, term: step.position.term, gid: record.gid, content: record.content))
  }

  /// Returns false if the transaction fails.
  private func commit(_ batch: FollowerBatch, _ node: ModelNode) throws -> Bool {
    guard let position = batch.position else { return true }
    let before = node.file
    for rows in batch.rows {
      guard let row = Int(String(decoding: rows.body, as: UTF8.self)), node.file.insert(row) else {
        throw Violation("node \(node.index) has a conflict at \(rows.sequence)")
      }
    }
    node.file.position = position
    if hits(oneIn: 200) {
      node.file = before
      return false
    }
    try checkFile(node)
    return true
  }

  private func load(_ node: ModelNode) {
    guard let (manifest, file) = snapshot, let state = state(node) else { return }
    // The fault: the position in the file is not compared.
    let position = options.fault == .staleSnapshot ? manifest.position : file.position
    guard manifest.fits(file: position, state) else { return }
    count("loaded")
    node.file = file
    node.file.position = position
    follow(node)
  }

  private func takeoverAction(
    _ node: ModelNode, _ step: FollowerStep, _ takeover: inout Takeover
  ) throws -> Takeover.Action? {
    guard let pending = node.pending else { return takeover.ticked(at: instant, position: step.position) }
    guard now >= node.earliest else { return nil }
    node.pending = nil
    switch pending {
    case .takeover(.wait), .takeover(.catchUp): return takeover.ticked(at: instant, position: step.position)
    case .takeover(.inspect): return takeover.inspected(state(node), position: step.position, at: instant)
    case .takeover(.publish(let record, _)):
      node.pending = .published(publish(record, node))
      return nil
    case .takeover(.read(let sequence, _)): return takeover.found(read(sequence, node), at: instant)
    case .published(let outcome): return takeover.published(outcome, at: instant)
    case .takeover(.compare), .takeover(.lead), .takeover(.stop), .leader, .found, .inspected:
      preconditionFailure("not an action to wait for")
    }
  }

  private func perform(_ action: Takeover.Action, _ node: ModelNode) throws {
    node.pending = .takeover(action)
    node.earliest = now
    switch action {
    case .wait, .catchUp: node.pending = nil
    case .compare:
      node.pending = nil
      node.needsCheck = true
    case .inspect(let pause), .read(_, let pause), .publish(_, let pause): node.earliest = now + pause
    case .stop(let alarm): stop(node, alarm)
    case .lead(let position):
      count("takeover")
      node.file.position = position
      try checkFile(node)
      node.pending = nil
      node.detector = PauseDetector(reading)
      node.lastGroup = now
      node.role = .leader(LeaderStep(position: position))
    }
  }
}
