// SPDX-License-Identifier: Apache-2.0

/// Decides how a reader gets the next records: from a consumer, or one by one. Pure.
///
/// Only the leader of all NATS servers makes a consumer, and after its death the servers need some seconds to elect
/// another one. The server that leads the log still answers, so the reader reads single records meanwhile.
struct ConsumerStep {
  typealias Instant = ContinuousClock.Instant

  enum Action: Equatable {
    /// Wait for records of the consumer.
    case receive
    /// Compare the log with the records that the consumer has delivered. It may be lost. Then call ``compared(_:at:)``.
    case compare
    /// Read single records. If `attempts` is true, begin an attempt to make a consumer, too.
    case read(attempts: Bool)
  }

  private enum State {
    case none(next: Instant)
    case attempting
    /// The time of the newest record, or of the newest comparison.
    case consuming(since: Instant)
  }

  /// The time between two attempts to make a consumer.
  static let pause = Duration.milliseconds(500)
  /// The time without a record after which the consumer may be lost. A leader writes at least four records a second.
  static let patience = Duration.seconds(1)

  private var state: State

  init(at now: Instant) { state = .none(next: now) }

  mutating func next(at now: Instant) -> Action {
    switch state {
    case .consuming(let since): return now - since < Self.patience ? .receive : .compare
    case .attempting: return .read(attempts: false)
    case .none(let next) where now < next: return .read(attempts: false)
    case .none:
      state = .attempting
      return .read(attempts: true)
    }
  }

  /// An attempt has ended.
  mutating func attempted(hasConsumer: Bool, at now: Instant) {
    state = hasConsumer ? .consuming(since: now) : .none(next: now + Self.pause)
  }

  /// The consumer has delivered a record.
  mutating func received(at now: Instant) { if case .consuming = state { state = .consuming(since: now) } }

  /// - Parameter isComplete: False if the log has records that the consumer has not delivered: it is lost.
  mutating func compared(isComplete: Bool, at now: Instant) {
    state = isComplete ? .consuming(since: now) : .none(next: now)
  }
}
