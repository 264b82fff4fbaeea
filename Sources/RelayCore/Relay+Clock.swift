// SPDX-License-Identifier: Apache-2.0
import Logging
import RelayDelivery
import RelayHub
import RelayProtocol
import RelayPush
import RelayStore

/// The reaction to a jump of the wall clock.
extension Relay {
  /// Shifts waits, planned reports, and the ends of Focus and filters, so that they keep their length. Decides again all
  /// pushes that depend on the wall clock: quiet hours may have begun or ended. The hub has re-armed its own alarms.
  func clockJumped(_ jump: ClockJump) {
    for line in jump.lines { diagnostics.log.notice("\(line.text)", metadata: ["seconds": "\(line.seconds)"]) }
    people.clockWasSet(on: self)
    rooms.clockWasSet(by: jump.step)
    calls.clockWasSet(by: jump.length, on: self)
    deliveries.clockWasSet(by: jump.length, on: self)
    clockSteps.move(by: jump.length, setTo: hub.now, on: self)
  }

  fileprivate func retryClockStep() { if stage != .stopping { clockSteps.submit(on: self) } }
}

extension ClockJump {
  /// The lines of the log, each with a duration in seconds.
  var lines: [(text: String, seconds: Int64)] {
    let causes = [("the machine was suspended", suspended), ("the wall clock was set", step)]
    return causes.map { ($0, $1.components.seconds) }.filter { $0.seconds != 0 }
  }
}

/// Shifts the stored due times after each jump of the wall clock. With a journal this takes several works, so the next
/// step waits until the times of the one before are shifted.
///
/// The state is private. The relay creates one object, and the methods run on the hub's thread.
final class ClockSteps {
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

  /// The first work is submitted at once, so that it is stored before messages that are sent at the new time.
  func move(by step: Duration, setTo time: Timestamp, on relay: isolated Relay) {
    steps.append(Step(step: step, time: time))
    if steps.count == 1 { submit(on: relay) }
  }

  fileprivate func submit(on relay: isolated Relay) {
    guard let step = steps.first else { return }
    relay.store.submit { (transaction) throws -> Part? in
      // A start during the wait continues it.
      if case .due(nil) = step.part { try transaction.noteClock() }
      if case .due(let rest) = step.part,
        let rest = try transaction.queue.moveDue(by: step.step, setTo: step.time, rest)
      {
        return .due(rest)
      }
      return try transaction.queue.decideHeldAgain(by: step.time) ? .held : nil
    } completion: { [relay] result in
      relay.assumeIsolated { relay in relay.clockSteps.submitted(result, on: relay) }
    }
  }

  private func submitted(_ result: Result<Part?, StoreError>, on relay: isolated Relay) {
    switch result {
    case .success(let part?):
      steps[0].part = part
      submit(on: relay)
    case .success(nil):
      relay.deliveries.holds.end(on: relay)
      relay.worker.wake()
      steps.removeFirst()
      submit(on: relay)
    case .failure(let error):
      _ = relay.requestError(error)  // logs the failure
      Task { [relay] in
        try? await Task.sleep(for: Relay.storePause)
        await relay.retryClockStep()
      }
    }
  }
}
