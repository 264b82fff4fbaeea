// SPDX-License-Identifier: Apache-2.0

/// Decides when a follower takes over, and whether it has won. Pure: it returns the next action, and the follower's
/// thread passes the answer to the method that the action names.
///
/// The log decides: nodes may take over for no reason, or two at a time, and the log accepts one of them. A heartbeat
/// only avoids changes that nobody needs.
///
/// The caller makes a new value after each check of the file against the log, at the start and after a reconnect.
public struct Takeover: Sendable {
  public typealias Instant = ContinuousClock.Instant

  public enum Action: Hashable, Sendable {
    /// Follow the log until this time; then call ``ticked(at:position:)``.
    case wait(until: Instant)
    /// Read the state of the log; then call ``inspected(_:position:at:)``.
    case inspect(after: Duration)
    /// The log has another generation, or lacks records. Compare the file with the log again, and make a new value.
    case compare
    /// Apply the log up to this sequence; then call ``caughtUp(_:at:)``.
    case catchUp(to: UInt64)
    case publish(LogRecord, after: Duration)
    case read(UInt64, after: Duration)
    /// This node leads. Commit this position, load the state, and open the listener.
    case lead(LogPosition)
    case stop(Alarm)
  }

  private enum Phase: Sendable {
    case following
    case inspecting
    case catchingUp(UInt64)
    case publishing(PublishResolution)
    case ended
  }

  /// The silence after which a follower takes over, without the jitter.
  public static let silence = Duration.seconds(1)
  /// The silence after which a follower no longer sends clients to the leader: three heartbeats are missing. A client
  /// that waits for a paused leader would miss the start of the next one.
  public static let doubt = Duration.milliseconds(600)
  public static let maxJitter = Duration.milliseconds(300)
  /// The same for the first takeover of a node that has led until now: another node should lead.
  public static let reluctance = Duration.seconds(5)
  /// The further wait of a node that lets another one go first, see ``NodeClocks/yields(_:to:at:)``. It is longer than
  /// the jitter.
  public static let yieldPause = Duration.milliseconds(500)

  /// The leader in the record that this node writes.
  private let node: Leader
  private let jitter: @Sendable () -> Duration
  private let gid: @Sendable () -> String
  private var phase = Phase.following
  private var deadline: Instant
  /// The time of the leader's last sign of life, or of the connection after it.
  private var seen: Instant
  /// The newest term whose leader has left.
  private var leftTerm: UInt64 = 0
  /// The time of the newest record of the file. The caller sets it before each call.
  public var newest = Duration.zero
  /// True if another node should go first. The caller sets it before each call.
  public var yields = false
  /// The clock for keys of this node's term. Is `nil` before the first claim.
  public private(set) var keys: KeyClock?

  /// - Parameters:
  ///   - jitter: Returns a random time up to ``maxJitter``, so that followers do not take over together.
  ///   - gid: Returns a new unique id for each record.
  ///   - silence: The time without a leader before the first takeover, without the jitter.
  ///   - since: The time since which the node is connected and has no sign of a leader. A heartbeat may be on its way.
  public init(
    _ node: Leader, at now: Instant, after silence: Duration = Self.silence, since: Instant? = nil,
    jitter: @escaping @Sendable () -> Duration, gid: @escaping @Sendable () -> String
  ) {
    let since = since ?? now
    self.node = node
    self.jitter = jitter
    self.gid = gid
    deadline = max(since + silence, now + Heartbeat.interval) + jitter()
    seen = since
  }

  /// True while a publish is in flight. The follower must then apply no records: the answer decides first.
  public var isPublishing: Bool { if case .publishing = phase { true } else { false } }

  /// True if the leader is silent for so long that clients should not be sent to it.
  public func doubtsLeader(at now: Instant) -> Bool { now - seen >= Self.doubt }

  /// Records a heartbeat. The caller ignores those of a lower term than its own, because they are from a deposed leader.
  public mutating func received(_ heartbeat: Heartbeat, at now: Instant) {
    if heartbeat.isLeaving {
      leftTerm = max(leftTerm, heartbeat.term)
      // The followers need no jitter: the log accepts one of them.
      if case .following = phase { deadline = min(deadline, now) }
    } else if heartbeat.term > leftTerm {
      leaderSeen(at: now)
    }
  }

  /// Records a sign of life of the leader.
  public mutating func leaderSeen(at now: Instant) {
    deadline = now + Self.silence + jitter()
    seen = now
    switch phase {
    case .inspecting, .catchingUp: phase = .following
    // A record that is in flight cannot be taken back.
    case .following, .publishing, .ended: break
    }
  }

  public mutating func ticked(at now: Instant, position: LogPosition) -> Action {
    let start = yields ? deadline + Self.yieldPause : deadline
    switch phase {
    case .following where now < start: return .wait(until: start)
    case .following, .inspecting:
      phase = .inspecting
      return .inspect(after: .zero)
    case .catchingUp(let last): return position.sequence < last ? .catchUp(to: last) : caughtUp(position, at: now)
    case .publishing, .ended: preconditionFailure("an answer is missing")
    }
  }

  /// - Parameter state: Is `nil` if there was no answer. NATS has no leader then either, so the node waits.
  public mutating func inspected(_ state: LogState?, position: LogPosition, at now: Instant) -> Action {
    if case .publishing = phase { return resolve(at: now) { $0.inspected(state) } }
    // A heartbeat arrived in the meantime.
    guard case .inspecting = phase else { return .wait(until: deadline) }
    guard let state else { return .inspect(after: .milliseconds(100)) }
    guard state.generation == position.generation, state.last >= position.sequence else {
      phase = .following
      return .compare
    }
    phase = .catchingUp(state.last)
    return state.last > position.sequence ? .catchUp(to: state.last) : caughtUp(position, at: now)
  }

  public mutating func caughtUp(_ position: LogPosition, at now: Instant) -> Action {
    guard case .catchingUp(let last) = phase else { return .wait(until: deadline) }
    guard position.sequence >= last else { return .catchUp(to: last) }
    keys = KeyClock(after: newest, at: now)
    let record = LogRecord(
      sequence: position.sequence + 1, term: position.term + 1, gid: gid(), time: newest, content: .term(node))
    var resolution = PublishResolution(record, after: position)
    // The file may have a newest record that the log does not have: from a NATS server that has kept it alone, or from
    // a log that was shorter for a moment. Such a node must not lead.
    let action = resolution.begin(isConnected: false)
    phase = .publishing(resolution)
    return perform(action, at: now)
  }

  public mutating func published(_ outcome: PublishOutcome, at now: Instant) -> Action {
    resolve(at: now) { $0.published(outcome) }
  }

  /// - Parameter read: Is `nil` if there was no answer.
  public mutating func found(_ read: LogRead?, at now: Instant) -> Action { resolve(at: now) { $0.found(read) } }

  private mutating func resolve(
    at now: Instant, _ next: (inout PublishResolution) -> PublishResolution.Action
  ) -> Action {
    guard case .publishing(var resolution) = phase else { preconditionFailure("no publish is in flight") }
    let action = next(&resolution)
    phase = .publishing(resolution)
    return perform(action, at: now)
  }

  private mutating func perform(_ action: PublishResolution.Action, at now: Instant) -> Action {
    switch action {
    case .publish(let record, let pause): return .publish(record, after: pause)
    case .read(let sequence, let pause): return .read(sequence, after: pause)
    case .inspect(let pause): return .inspect(after: pause)
    case .decide(.stored):
      guard case .publishing(let resolution) = phase else { preconditionFailure("no publish is in flight") }
      let record = resolution.record
      return end(
        .lead(
          LogPosition(
            generation: resolution.previous.generation, term: record.term, sequence: record.sequence,
            gid: record.gid)))
    case .decide(.lost), .decide(.removed):
      // Another node has written. It gets the usual time to send a heartbeat.
      phase = .following
      deadline = now + Self.silence + jitter()
      return .wait(until: deadline)
    case .decide(.stop(.diverged)):
      phase = .following
      return .compare
    case .decide(.stop(let alarm)): return end(.stop(alarm))
    }
  }

  private mutating func end(_ action: Action) -> Action {
    phase = .ended
    return action
  }
}
