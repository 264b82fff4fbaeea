// SPDX-License-Identifier: Apache-2.0

/// Finds the times in which another node may have taken over: long pauses of the process, and proofs that are old
/// because the log does not answer.
///
/// The leader calls ``observed(_:)`` before each answer and at least every 200 ms. At its start and after a long pause,
/// it publishes a record of kind `noop` before it answers anybody. ``LeaderStep/provesLeadership`` is the result.
public struct PauseDetector: Sendable {
  /// The clocks at one moment. Two clocks, because some hosts stop one of them while a virtual machine is suspended.
  public struct Reading: Sendable {
    public let clock: ContinuousClock.Instant
    /// The time of day, since 1970. It may jump. A jump forwards costs one read of the log, and a jump backwards
    /// changes nothing.
    public let timeOfDay: Duration

    public init(clock: ContinuousClock.Instant, timeOfDay: Duration) {
      self.clock = clock
      self.timeOfDay = timeOfDay
    }
  }

  /// The pause after which the leader checks. Another node needs ``Takeover/silence`` since the last heartbeat to take
  /// over, and the last heartbeat may be older than the pause. A check costs one publish, so this time is generous.
  public static let limit = Takeover.silence / 2

  /// The age of the newest proof after which the leader checks. A leader that is cut off from the log stops to answer
  /// before another node takes over: its last heartbeat is at most ``Heartbeat/interval`` older than its last proof.
  public static let maxAge = Takeover.silence * 3 / 4

  private var last: Reading
  private var pauseFound: ContinuousClock.Instant?
  /// The time at which this node led for certain. Is `nil` before the first proof.
  public private(set) var proof: ContinuousClock.Instant?
  /// True if the leader must check the log before it answers. True at first: a node whose claim of a term was repeated,
  /// or that paused during the claim, may already be deposed.
  public private(set) var needsCheck = true

  public init(_ now: Reading) { last = now }

  /// Records the time.
  /// - Returns: ``needsCheck``.
  public mutating func observed(_ now: Reading) -> Bool {
    let pause = max(now.clock - last.clock, now.timeOfDay - last.timeOfDay)
    if pause >= Self.limit {
      needsCheck = true
      pauseFound = max(pauseFound ?? now.clock, now.clock)
    }
    if let proof, now.clock - proof >= Self.maxAge { needsCheck = true }
    // Another thread may have read the clocks later and called first.
    if now.clock >= last.clock { last = now }
    return needsCheck
  }

  /// The log has proved that this node leads. `began` is the time before the publish: a pause during the publish needs
  /// another check.
  public mutating func confirmed(began: Reading, now: Reading) {
    _ = observed(began)
    proof = max(proof ?? began.clock, began.clock)
    needsCheck = false
    _ = observed(now)
    if let pauseFound, pauseFound > began.clock { needsCheck = true }
  }
}
