// SPDX-License-Identifier: Apache-2.0
import Synchronization

/// A value that one thread gives, and that one task awaits.
///
/// The task continues on its own executor. After a continuation, Swift continues on a thread of its pool, and then
/// changes to the executor. Each change of the thread costs up to milliseconds on a busy machine.
public actor Handover<Value: Sendable> {
  private let gate = HandoverGate<Value>()

  public nonisolated var unownedExecutor: UnownedSerialExecutor { gate.asUnownedSerialExecutor() }

  public init() {}

  /// Gives the value. Must be called once. Any thread; runs no other code of the waiting task.
  public nonisolated func give(_ value: Value) { gate.open(with: value) }

  /// Waits for the value. Must be called once.
  public func value() -> Value { gate.value }
}

/// Runs the only job of a ``Handover`` when both the job and the value have arrived.
private final class HandoverGate<Value: Sendable>: SerialExecutor {
  private struct State {
    var job: UnownedJob?
    var value: Value?
  }

  private let state = Mutex(State())

  var value: Value {
    guard let value = state.withLock({ $0.value }) else { preconditionFailure("the job runs after the value is given") }
    return value
  }

  func enqueue(_ job: consuming ExecutorJob) {
    let job = UnownedJob(job)
    let isOpen = state.withLock { state in
      if state.value == nil { state.job = job }
      return state.value != nil
    }
    if isOpen { job.runSynchronously(on: asUnownedSerialExecutor()) }
  }

  func open(with value: Value) {
    let job = state.withLock { state in
      precondition(state.value == nil, "a value is given once")
      state.value = value
      defer { state.job = nil }
      return state.job
    }
    job?.runSynchronously(on: asUnownedSerialExecutor())
  }

  func asUnownedSerialExecutor() -> UnownedSerialExecutor { UnownedSerialExecutor(ordinary: self) }
}
