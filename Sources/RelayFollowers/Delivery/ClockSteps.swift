// SPDX-License-Identifier: Apache-2.0
import Logging
package import RelayHub
package import RelayProtocol
package import RelayPush
package import RelayState
import RelayStore

extension ClockJump {
  /// The lines of the log, each with a duration in seconds.
  package var lines: [(text: String, seconds: Int64)] {
    let causes = [("the machine was suspended", suspended), ("the wall clock was set", step)]
    return causes.map { ($0, $1.components.seconds) }.filter { $0.seconds != 0 }
  }
}

/// Shifts the stored due times after each jump of the wall clock. With a journal this takes several works, so the next
/// step waits until the times of the one before are shifted.
///
/// The state is private. The relay creates one object, and the methods run on the hub's thread.
package final class ClockSteps {
  private struct Step: Sendable {
    let step: Duration
    /// The new time when the step was noticed. Retries use the same time.
    let time: Timestamp
    /// The next work.
    var part = Part.due(nil)
  }

  private enum Part: Sendable {
    case due(DueTimes?)
    case held
  }

  /// The steps whose times are not all shifted. The first one is in progress.
  private var steps: [Step] = []
  private let pause = StorePause()

  private let deliveries: Deliveries
  private let worker: PushWorker

  package init(_ deliveries: Deliveries, _ worker: PushWorker) {
    (self.deliveries, self.worker) = (deliveries, worker)
  }

  /// The first work is submitted at once, so that it is stored before messages that are sent at the new time.
  package func move(by step: Duration, setTo time: Timestamp, on core: isolated Core) {
    steps.append(Step(step: step, time: time))
    if steps.count == 1 { submit(on: core) }
  }

  private func submit(on core: isolated Core) {
    guard let step = steps.first else { return }
    core.submit { (transaction) throws -> Part? in
      // A start during the wait continues it.
      if case .due(nil) = step.part { try transaction.noteClock() }
      if case .due(let rest) = step.part,
        let rest = try transaction.queue.moveDue(by: step.step, setTo: step.time, rest)
      {
        return .due(rest)
      }
      return try transaction.queue.decideHeldAgain(by: step.time) ? .held : nil
    } then: { [self] result in
      submitted(result, on: core)
    }
  }

  private func submitted(_ result: Result<Part?, StoreError>, on core: isolated Core) {
    switch result {
    case .success(let part?):
      steps[0].part = part
      submit(on: core)
    case .success(nil):
      deliveries.holds.end(on: core)
      worker.wake()
      steps.removeFirst()
      submit(on: core)
    case .failure(let error):
      core.logFailure(of: error)
      pause.begin(on: core) { [self] in if core.stage != .stopping { submit(on: core) } }
    }
  }
}
