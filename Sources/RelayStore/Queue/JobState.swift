// SPDX-License-Identifier: Apache-2.0

/// The state of a push job, and the table of all its transitions.
///
/// Every statement that changes the column `state` of `jobs` takes the new state and the possible old states from this
/// table. See ``JobEvent/assignment`` and ``JobEvent/condition``.
public enum JobState: String, Sendable, CaseIterable {
  /// The job becomes due later, because its sender's pace exceeds the limit. No other job waits for it.
  case waiting
  /// The relay will decide the job again when it is due, or earlier.
  case held
  /// The push of another job, the digest head, contains the message. The job ends with the digest head: then it keeps
  /// this state and has an end time.
  case merged
  case ready
  /// A worker has claimed the job, under a lease.
  case sending
  /// A gateway could not take the push. The job is due again later.
  case retrying
  case sent, cancelled, expired, dead

  /// The states of a new job. It is cancelled at once if its device or its recipient's membership has gone.
  static let initial: Set<JobState> = [.waiting, .held, .ready, .cancelled]

  /// The state after an event; nil: the event cannot happen to a job in this state.
  public func next(on event: JobEvent) -> JobState? {
    let transition = event.transition
    return transition.from.contains(self) ? transition.to : nil
  }
}

/// An event that changes the state of a push job.
public enum JobEvent: Sendable, CaseIterable {
  /// The time of a waiting job has come.
  case waitEnded
  /// A decision holds the push.
  case held
  /// A decision, a Notify Anyway, or the end of a digest head lets the push go out by itself.
  case released
  /// The push of another job will contain the message.
  case merged
  /// A worker takes the job.
  case claimed
  /// A lease ended without a result, or the worker's process did.
  case leaseEnded
  /// The gateway could not take the push, and may take it later.
  case retried
  /// The gateway accepted the push. This counts although the job was cancelled meanwhile.
  case sent
  /// The gateway refused the push for good, or there is no gateway: a dead letter.
  case refused
  /// The push is too late.
  case expired
  /// The push lost its reason, for example because the recipient read the message.
  case cancelled
  /// A backend requests that a dead letter is sent again. The relay decides it again first.
  case revived
  /// An update was sent that had changed meanwhile.
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

  /// The event that ends a job so.
  var event: JobEvent {
    switch self {
    case .sent: .sent
    case .cancelled: .cancelled
    case .expired: .expired
    case .dead: .refused
    }
  }
}
