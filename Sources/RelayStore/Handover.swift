// SPDX-License-Identifier: Apache-2.0
import Synchronization

/// A value that one thread gives, and that one task awaits.
///
/// Swift 6.3 resumes a task that waits for a continuation on a thread of its pool, even if the task belongs to another
/// executor. The task then changes to its own executor. A task that waits for a handover goes there directly from the
/// thread that gives the value. That saves a change of the thread, which can take milliseconds on a busy machine.
public actor Handover<Value: Sendable> {
  private let gate = HandoverGate<Value>()

  public nonisolated var unownedExecutor: UnownedSerialExecutor { gate.asUnownedSerialExecutor() }

  public init() {}

  /// Gives the value. Must be called once on each path, on any thread. Runs no code of the task besides ``value()``.
  public nonisolated func give(_ value: Value) { gate.open(with: value) }

  /// Waits for the value. Must be called once. A cancellation of the task does not end the wait.
  public func value() -> Value { gate.take() }
}

/// Runs the only job of a ``Handover`` when both the job and the value have arrived.
private final class HandoverGate<Value: Sendable>: SerialExecutor {
  private enum State {
    case empty
    case waiting(UnownedJob)
    case given(Value)
    case taken
  }

  private let state = Mutex(State.empty)

  func enqueue(_ job: consuming ExecutorJob) {
    let job = UnownedJob(job)
    let isOpen = state.withLock { state in
      switch state {
      case .empty:
        state = .waiting(job)
        return false
      case .given: return true
      case .waiting, .taken: preconditionFailure("a handover has one waiting task")
      }
    }
    if isOpen { job.runSynchronously(on: asUnownedSerialExecutor()) }
  }

  func open(with value: Value) {
    let job: UnownedJob? = state.withLock { state in
      switch state {
      case .empty:
        state = .given(value)
        return nil
      case .waiting(let job):
        state = .given(value)
        return job
      case .given, .taken: preconditionFailure("the value was given twice")
      }
    }
    job?.runSynchronously(on: asUnownedSerialExecutor())
  }

  func take() -> Value {
    state.withLock { state in
      guard case .given(let value) = state else { preconditionFailure("the job ran before a value was given") }
      state = .taken
      return value
    }
  }

  func asUnownedSerialExecutor() -> UnownedSerialExecutor { UnownedSerialExecutor(ordinary: self) }
}
