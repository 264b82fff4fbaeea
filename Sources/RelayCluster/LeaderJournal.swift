// SPDX-License-Identifier: Apache-2.0
import Dispatch
import Synchronization

/// The leader's side of the log: decides the groups of the writer, proves the leadership, and sends heartbeats.
///
/// Threads: any. ``decide(_:)``, ``committed()`` and ``commitFailed()`` are for the writer's thread. One publish is in
/// flight: after the log has decided a group, no other record is published until the group is committed.
public final class LeaderJournal: Sendable {
  public enum Decision: Hashable, Sendable {
    /// Write this position and run COMMIT. Then call ``LeaderJournal/committed()``, or
    /// ``LeaderJournal/commitFailed()``.
    case commit(LogPosition)
    /// Run ROLLBACK. Nothing is committed any more.
    case end(LeaderEnd)
  }

  private struct State {
    var detector: PauseDetector
    var position: LogPosition
    var wasDisconnected = false
    /// The time at which the log decided the group that the file has not committed yet.
    var decided: ContinuousClock.Instant?
    /// The last failure of the publish in flight.
    var failure: String?
    /// The time since which the leadership needs a proof.
    var doubtful: ContinuousClock.Instant?
    var onChange: (@Sendable () -> Void)?
    var end: LeaderEnd?
  }

  /// The service that clients may get from this node.
  public enum Service: Hashable, Sendable {
    case serves
    /// Another node may lead. Clients get nothing until the log has decided.
    case held
    /// Another node may lead, for good.
    case ended
  }

  /// The age of the newest proof at which the leader publishes a record of kind `noop`.
  public static let idle = PauseDetector.maxAge / 3
  /// The time without a proof after which the leader ends, so that its clients find another node.
  public static let maxDoubt = Duration.seconds(8)

  /// The time for a COMMIT after which the leader sends no more heartbeats, so that another node takes over.
  static let maxCommit = Duration.seconds(5)

  private let node: Leader
  private let keys: KeyClock
  private let log: MeasuredLog
  private let clock: any NodeClock
  private let board: NodeStatusBoard
  private let onEvent: @Sendable (NodeEvent) -> Void
  private let onEnd: @Sendable (LeaderEnd) -> Void
  private let state: Mutex<State>
  /// The right to publish. It begins with 0, because libdispatch ends the process if a semaphore is released below its
  /// first value.
  private let turn = DispatchSemaphore(value: 0)
  // Safe: only the owner of `turn` uses them.
  nonisolated(unsafe) private var step: LeaderStep
  nonisolated(unsafe) private var began: PauseDetector.Reading

  /// - Parameters:
  ///   - position: The position after the record that began the term.
  ///   - keys: The clock for keys of the term.
  ///   - onPublished: Receives the result and the duration of each publish.
  ///   - onEnd: Called once. The process must then serve nobody any more.
  public init(
    _ node: Leader, at position: LogPosition, keys: KeyClock, log: any ClusterLog, clock: any NodeClock,
    board: NodeStatusBoard,
    onPublished: @escaping @Sendable (PublishOutcome, Duration) -> Void = { _, _ in },
    onEvent: @escaping @Sendable (NodeEvent) -> Void, onEnd: @escaping @Sendable (LeaderEnd) -> Void
  ) {
    self.node = node
    self.keys = keys
    self.log = MeasuredLog(log: log) { outcome, duration in
      board.change { status in
        switch outcome {
        case .stored: break
        case .rejected: status.rejected += 1
        case .unknown: status.unknown += 1
        }
      }
      onPublished(outcome, duration)
    }
    self.clock = clock
    self.board = board
    self.onEvent = onEvent
    self.onEnd = onEnd
    step = LeaderStep(position: position)
    began = clock.reading
    state = Mutex(State(detector: PauseDetector(clock.reading), position: position))
    turn.signal()
  }

  /// The end of the leadership. Is `nil` while this node leads.
  public var end: LeaderEnd? { state.withLock { $0.end } }
  public var position: LogPosition { state.withLock { $0.position } }
  /// The present time by the clock for keys, since 1970.
  public var keyTime: Duration { keys.time(at: clock.now) }

  // MARK: Groups

  /// Decides a group whose transaction is open. Blocks as long as the log gives no answer.
  public func decide(_ rows: [UInt8]) -> Decision { decide(.rows(rows)) }

  /// Decides a group, or a migration that this node runs after it.
  public func decide(_ content: LogRecord.Content) -> Decision {
    turn.wait()
    let decision = publish(content)
    if case .end = decision { turn.signal() }
    return decision
  }

  /// The file contains the group.
  public func committed() {
    step.committed()
    let (now, position) = (clock.reading, step.position)
    let wasProved = state.withLock { state in
      state.position = position
      state.decided = nil
      guard step.provesLeadership else { return false }
      let needed = state.detector.needsCheck
      state.detector.confirmed(began: began, now: now)
      if !state.detector.needsCheck { state.doubtful = nil }
      return needed && !state.detector.needsCheck
    }
    turn.signal()
    board.change { $0.move(to: position) }
    guard wasProved else { return }
    board.change { $0.unprovedSince = nil }
    onEvent(.proved)
    noteChange()
  }

  /// COMMIT failed, although the log contains the group. This node leads no more.
  public func commitFailed() {
    _ = step.commitFailed()
    finish(.commitFailed)
    turn.signal()
  }

  /// Publishes one record. The caller owns `turn`.
  private func publish(_ content: LogRecord.Content) -> Decision {
    let wasDisconnected = state.withLock { state in
      defer { state.wasDisconnected = false }
      return state.wasDisconnected
    }
    if let end { return .end(end) }
    if wasDisconnected { step.disconnected() }
    let reading = clock.reading
    began = reading
    state.withLock { _ = $0.detector.observed(reading) }
    let time = keys.time(at: reading.clock)
    let action = step.decide(content, gid: clock.gid(), time: time, on: log) { [clock, self] pause in
      clock.wait(pause) && end == nil
    } onUnknown: {
      noteUnknown($0)
    }
    if case .commit = action { noteDecided() }
    switch action {
    case .commit(let position):
      let now = clock.now
      state.withLock { $0.decided = now }
      return .commit(position)
    case .rollBack(.deposed): return finish(.deposed)
    case .rollBack(.unknown): return finish(.unknown)
    case .stop(let alarm): return finish(.alarm(alarm))
    case nil: return finish(.shutDown)
    case .publish, .read, .inspect, .reopen: preconditionFailure("the log has not decided the group")
    }
  }

  private func noteUnknown(_ reason: String) {
    let isFirst = state.withLock { state in
      defer { state.failure = reason }
      return state.failure == nil
    }
    if isFirst { onEvent(.publishUnknown(reason: reason)) }
  }

  private func noteDecided() {
    let hasWaited = state.withLock { state in
      defer { state.failure = nil }
      return state.failure != nil
    }
    if hasWaited { onEvent(.publishDecided) }
  }

  /// Ends the leadership. Only the first call has an effect.
  @discardableResult
  private func finish(_ end: LeaderEnd) -> Decision {
    let first = state.withLock { state in
      defer { state.end = state.end ?? end }
      return state.end
    }
    guard first == nil else { return .end(first ?? end) }
    // The followers need not wait for the silence.
    if end != .deposed {
      let position = position
      log.log.send(Heartbeat(term: position.term, sequence: position.sequence, leader: node, isLeaving: true))
    }
    noteChange()
    onEvent(.leadershipEnded(end))
    onEnd(end)
    return .end(end)
  }

  // MARK: Proofs

  /// The service that clients may get now. Never blocks. Call it before each answer.
  public var service: Service {
    let reading = clock.reading
    return state.withLock { state in
      guard state.end == nil else { return .ended }
      return state.detector.observed(reading) ? .held : .serves
    }
  }

  /// Begins the service. From now on the leader ends if it has no proof for ``maxDoubt``.
  /// - Parameter onChange: Called on any thread when ``service`` has changed, except when it has become `held`.
  public func serve(onChange: @escaping @Sendable () -> Void) {
    state.withLock { $0.onChange = onChange }
    onChange()
  }

  private func noteChange() { state.withLock { $0.onChange }?() }

  /// Sends a heartbeat. Call this every ``Heartbeat/interval`` on a thread that nothing blocks.
  public func pulse() {
    let reading = clock.reading
    let (position, doubtful, becameDoubtful, isTooLong, failure, isSilent) = state.withLock { state in
      let needsProof = state.detector.observed(reading)
      let became = needsProof && state.doubtful == nil
      state.doubtful = needsProof ? state.doubtful ?? reading.clock : nil
      let isTooLong =
        state.onChange != nil && state.doubtful.map { reading.clock - $0 >= Self.maxDoubt } ?? false
      let hangs = state.decided.map { reading.clock - $0 >= Self.maxCommit } ?? false
      return (state.position, state.doubtful, became, isTooLong, state.failure, hangs)
    }
    board.change { $0.unprovedSince = doubtful }
    guard end == nil else { return }
    guard !isTooLong else {
      finish(.unproved(reason: failure))
      return
    }
    if becameDoubtful { onEvent(.needsProof) }
    guard !isSilent else { return }
    log.log.send(Heartbeat(term: position.term, sequence: position.sequence, leader: node))
  }

  /// Publishes a record of kind `noop` if the newest proof is old, or if the leadership needs one. Blocks as long as the
  /// log gives no answer. Returns false after the end of the leadership.
  public func publishNoopIfDue() -> Bool {
    let reading = clock.reading
    let isDue = state.withLock { state in
      state.detector.observed(reading) || reading.clock - (state.detector.proof ?? reading.clock) >= Self.idle
    }
    guard end == nil else { return false }
    // If a group is in progress, it is the proof.
    guard isDue, turn.wait(timeout: .now()) == .success else { return true }
    guard case .commit = publish(.noop) else {
      turn.signal()
      return false
    }
    committed()
    return true
  }

  /// Blocks until the log has proved that this node leads, before it serves. Returns false after the end of the
  /// leadership.
  public func waitForProof() -> Bool {
    while true {
      switch service {
      case .serves: return true
      case .ended: return false
      case .held: break
      }
      guard publishNoopIfDue() else { return false }
      // A group of the writer is in progress, or its answer proved nothing.
      if state.withLock({ $0.detector.needsCheck }) { guard clock.wait(.milliseconds(2)) else { return false } }
    }
  }

  // MARK: Other events

  /// The connection to the log was lost.
  public func disconnected() { state.withLock { $0.wasDisconnected = true } }

  /// Ends the leadership at the request of the operator. Waits for the group in progress, at most two seconds.
  public func stepDown() {
    let hasTurn = turn.wait(timeout: .now() + 2) == .success
    finish(.steppedDown)
    if hasTurn { turn.signal() }
  }

  /// Ends the leadership because the process ends. Call this when the store is closed.
  public func close() { finish(.shutDown) }
}
