// SPDX-License-Identifier: Apache-2.0

/// The state of a push job, and the table of all its transitions.
///
/// Every statement that changes the column `state` of `jobs` takes the new state and the possible old states from this
/// table. See ``JobEvent/assignment`` and ``JobEvent/condition``.
public enum JobState: String, Sendable, CaseIterable {
  /// The job is due later, because its sender exceeds the pace limit. No other job waits for it.
  case waiting
  /// The relay will decide the job again when it is due, or earlier.
  case held
  /// Another job, the digest head, has the message in its push. The job ends together with the digest head. It then
  /// keeps this state and gets an end time.
  case merged
  case ready
  /// A worker has claimed the job, under a lease.
  case sending
  /// A gateway could not accept the push. The job is due again later.
  case retrying
  case sent, cancelled, expired, dead

  /// The possible states of a new job. It is cancelled at once if its device is not registered any more, or if its
  /// recipient has left the room.
  static let initial: Set<JobState> = [.waiting, .held, .ready, .cancelled]

  /// The state after an event. Is `nil` when the event is not possible in this state.
  public func next(on event: JobEvent) -> JobState? {
    let transition = event.transition
    return transition.from.contains(self) ? transition.to : nil
  }
}

/// An event that changes the state of a push job.
public enum JobEvent: Sendable, CaseIterable {
  /// A waiting job becomes due.
  case waitEnded
  /// A decision holds the push.
  case held
  /// A decision, a Notify Anyway, or the end of a digest head makes the push a single one that can be sent.
  case released
  /// The message becomes part of another job's push.
  case merged
  /// A worker takes the job.
  case claimed
  /// A lease or the worker's process ended without a result.
  case leaseEnded
  /// The gateway could not accept the push, and may accept it later.
  case retried
  /// The gateway accepted the push. This is possible even if the job was cancelled meanwhile.
  case sent
  /// The gateway rejected the push permanently, or the device has no gateway. The job becomes a dead letter.
  case refused
  /// The push expired.
  case expired
  /// The push is not needed any more, for example because the recipient read the message.
  case cancelled
  /// A backend requested to send a dead letter again. The relay decides it again first.
  case revived
  /// An update was sent, but its content had changed meanwhile.
  case repeated

  /// The states in which a job can be when the event happens, and the state after it.
  var transition: (from: [JobState], to: JobState) {
    switch self {
    case .waitEnded: ([.waiting], .ready)
    case .held: ([.waiting, .held, .merged, .ready, .retrying], .held)
    case .released: ([.waiting, .held, .merged, .ready], .ready)
    case .merged: ([.waiting, .held, .ready, .retrying], .merged)
    case .claimed: ([.ready, .retrying], .sending)
    case .leaseEnded: ([.sending], .ready)
    case .retried: ([.sending], .retrying)
    case .sent: ([.waiting, .held, .ready, .sending, .retrying, .cancelled], .sent)
    case .refused: ([.waiting, .held, .ready, .sending, .retrying], .dead)
    case .expired: ([.waiting, .held, .merged, .ready, .sending, .retrying], .expired)
    case .cancelled: ([.waiting, .held, .merged, .ready, .sending, .retrying], .cancelled)
    case .revived: ([.dead], .held)
    case .repeated: ([.sending], .ready)
    }
  }
}

/// The transitions in SQL.
extension JobEvent {
  /// The new state, for the `SET` clause of an `UPDATE` of `jobs`.
  var assignment: String { "state = '\(transition.to.rawValue)'" }

  /// The possible old states, for the `WHERE` clause.
  var condition: String {
    let states = transition.from.map { "'\($0.rawValue)'" }
    return states.count == 1 ? "state = \(states[0])" : "state IN (\(states.joined(separator: ", ")))"
  }
}

/// The end of a push job.
public enum FinishedState: String, Sendable, CaseIterable {
  case sent, cancelled, expired, dead

  /// The event that ends a job with this state.
  var event: JobEvent {
    switch self {
    case .sent: .sent
    case .cancelled: .cancelled
    case .expired: .expired
    case .dead: .refused
    }
  }
}
