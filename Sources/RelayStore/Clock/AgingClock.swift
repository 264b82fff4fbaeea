// SPDX-License-Identifier: Apache-2.0
public import RelayProtocol

/// The clock for ages. It notices when the wall clock is set, and decides if the store may delete data by its age.
///
/// After a step of the wall clock nobody knows which time is right, the one before or the one after. While the clock is
/// wrong, data looks older than it is, and a deletion is final. Deletion by age therefore waits:
///
/// - after a step of more than ``maxStep``
/// - after a start, if the relay's last known time is more than ``maxStop`` away
///
/// The wait ends when the clock was not set for ``steadyTime``, when it has taken ``maxWait`` in all, or when an operator
/// confirms the clock. The caller passes the readings of the wall clock and of the monotonic clock.
public struct AgingClock: Equatable, Sendable {
  /// The cause of a wait.
  public enum Cause: String, Sendable, CaseIterable {
    /// The wall clock was set while the relay ran.
    case step
    /// The relay was stopped for long, or the wall clock was set meanwhile.
    case stop
  }

  /// A wait of deletion by age.
  public struct Wait: Equatable, Sendable {
    public internal(set) var cause: Cause
    /// The part of the wait in earlier runs of the relay.
    let earlier: Duration
    /// The elapsed times at which this run began to wait, and at which the wall clock was set last.
    let began: Duration
    var steadySince: Duration
    /// The sum of the steps during the wait, also in earlier runs of the relay, and the time after the last of them.
    var waitSteps = Duration.zero
    var stepped: Timestamp?
  }

  /// The state that outlives the relay.
  struct Record: Equatable, Sendable {
    /// The relay's time when the record was stored.
    var noted: Timestamp
    /// The cause and the duration of the wait, if deletion waits.
    var cause: Cause?
    var waited = Duration.zero
    /// See ``Wait/waitSteps``.
    var waitSteps = Duration.zero
    var stepped: Timestamp?
    /// See ``AgingClock/totalSteps``.
    var totalSteps = Duration.zero
  }

  /// A step of the wall clock in this run of the relay.
  struct Step: Equatable, Sendable {
    /// The elapsed time at which the step was noticed.
    let at: Duration
    let length: Duration
  }

  /// A smaller difference between both clocks is inaccuracy. A slow correction adds up to a step of this size.
  static let minStep = Duration.seconds(1)
  public static let maxStep = Duration.seconds(3_600)
  public static let maxStop = Duration.seconds(86_400)
  public static let steadyTime = Duration.seconds(86_400)
  public static let maxWait = Duration.seconds(7 * 86_400)

  /// The wall clock minus the clock for idempotency keys and rates, which never steps.
  ///
  /// It changes with each step of the wall clock. Each node's database has its own value, because each node has its own
  /// clock. In a cluster, the clock for keys continues at the time of the newest record of the log, so that the clock of
  /// a new leader ends no key. At a start, it is never before the newest time that the store has noted by it.
  public private(set) var keyOffset: Duration
  /// The sum of all steps since the database was created. The wall clock without them is the stepless clock, by which
  /// reports of devices, devices, jobs and changes of users age.
  ///
  /// It is replicated, so that all nodes agree, unlike ``keyOffset``. But a step while the relay is stopped is not in
  /// it, so the stepless clock may go back at a start. The clock for keys never does.
  public private(set) var totalSteps: Duration
  /// ``totalSteps`` as it is stored.
  var storedSteps: Duration { .milliseconds(totalSteps.milliseconds) }
  /// Is `nil` when data may be deleted by its age.
  public private(set) var wait: Wait?
  /// The wall clock minus the elapsed time, since the last step.
  private var offset: Duration
  /// The newest steps, at most ``maxSteps``, the last one last.
  private(set) var newestSteps: [Step] = []
  static let maxSteps = 64

  /// - Parameters:
  ///   - record: The state of an earlier run. Is `nil` in a new database.
  ///   - keyOffset: The value of ``keyOffset`` in an earlier run.
  ///   - newest: The newest time that the store has noted by the clock for keys. Is `nil` when there is none.
  ///   - keyTime: The present time by the clock for keys of a cluster. Is `nil` for a single node, which continues by its
  ///     own wall clock.
  init(
    _ record: Record?, keyOffset: Duration = .zero, newest: Timestamp? = nil, keyTime: Timestamp? = nil,
    now: Timestamp, elapsed: Duration
  ) {
    let keyOffset = keyTime.map { now - $0 } ?? keyOffset
    self.keyOffset = newest.map { min(keyOffset, now - $0) } ?? keyOffset
    totalSteps = record?.totalSteps ?? .zero
    offset = (now - Timestamp(rawValue: 0)) - elapsed
    guard let record else { return }
    let stop = now - record.noted
    let isFar = stop > Self.maxStop || stop < .zero - Self.maxStop
    if let cause = record.cause ?? (isFar ? .stop : nil) {
      wait = Wait(
        cause: cause, earlier: record.waited, began: elapsed, steadySince: elapsed,
        waitSteps: record.waitSteps, stepped: record.stepped)
    }
  }

  /// Updates the state with new readings of both clocks. Call it before each use of the state.
  mutating func read(now: Timestamp, elapsed: Duration) {
    let step = (now - Timestamp(rawValue: 0)) - elapsed - offset
    if step >= Self.minStep || step <= .zero - Self.minStep {
      offset += step
      newestSteps.append(Step(at: elapsed, length: step))
      if newestSteps.count > Self.maxSteps { newestSteps.removeFirst() }
      keyOffset += step
      totalSteps += step
      if step > Self.maxStep || step < .zero - Self.maxStep {
        wait = wait ?? Wait(cause: .step, earlier: .zero, began: elapsed, steadySince: elapsed)
        wait?.cause = .step
      }
      wait?.steadySince = elapsed
      wait?.waitSteps += step
      wait?.stepped = now
    }
    if remaining(at: elapsed) == .zero { wait = nil }
  }

  private func waited(_ wait: Wait, at elapsed: Duration) -> Duration { wait.earlier + (elapsed - wait.began) }

  /// The time until the wait ends if nobody sets the clock. Is `nil` when nothing waits.
  public func remaining(at elapsed: Duration) -> Duration? {
    wait.map {
      max(.zero, min(Self.steadyTime - (elapsed - $0.steadySince), Self.maxWait - waited($0, at: elapsed)))
    }
  }

  /// True if the wall clock has shown a time within the last `age`. Considers only ``newestSteps``.
  func hasShown(_ time: Timestamp, within age: Duration, now: Timestamp, elapsed: Duration) -> Bool {
    // The period from the last step until now, then the periods between two steps, from the newest to the oldest.
    var end = (wall: now, elapsed: elapsed)
    let start = elapsed - age
    for step in newestSteps.reversed() where step.at > start {
      let begin = end.wall - (end.elapsed - step.at)
      if begin <= time, time <= end.wall { return true }
      end = (begin - step.length, step.at)
    }
    return end.wall - (end.elapsed - start) < time && time <= end.wall
  }

  /// Returns the duration to add to an expiry that was computed at `time`: the sum of the steps during the wait, if it
  /// is positive and the last step was after `time`. Otherwise zero.
  public func shift(since time: Timestamp) -> Duration {
    guard let wait, let stepped = wait.stepped, time < stepped else { return .zero }
    return max(.zero, wait.waitSteps)
  }

  /// Ends a wait, because an operator knows that the wall clock is right.
  /// - Returns: False if the wait has changed since the operator has looked at the clock.
  mutating func confirm(_ wait: Wait) -> Bool {
    guard self.wait == wait else { return false }
    self.wait = nil
    return true
  }

  func record(now: Timestamp, elapsed: Duration) -> Record {
    guard let wait else { return Record(noted: now, totalSteps: totalSteps) }
    return Record(
      noted: now, cause: wait.cause, waited: waited(wait, at: elapsed), waitSteps: wait.waitSteps,
      stepped: wait.stepped, totalSteps: totalSteps)
  }
}
