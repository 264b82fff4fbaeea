// SPDX-License-Identifier: Apache-2.0
import Logging
import RelayDelivery
import RelayHub
import RelayProtocol
import RelayPush
import RelayStore

/// The reaction to a wall clock that is set.
extension Relay {
  /// Keeps the length of waits and planned reports, and decides again all pushes that depend on the wall clock: quiet hours
  /// may have begun or ended, and a Focus may be stale. The hub has armed its alarms anew.
  func clockWasSet(by step: Duration) {
    diagnostics.log.notice("the wall clock was set", metadata: ["seconds": "\(step.components.seconds)"])
    deliveries.clockWasSet(by: step, on: self)
    moveStored(by: step, setTo: hub.now)
  }

  /// Moves what is stored. It is submitted at once, so that it is stored before the messages that are sent at the new time.
  /// - Parameter time: The new time at which the step was noticed, also when this is tried again.
  private func moveStored(by step: Duration, setTo time: Timestamp) {
    store.submit { transaction in
      try transaction.queue.decideHeldAgain(by: time)
      try transaction.queue.moveDue(by: step, setTo: time)
    } completion: { [self] result in
      assumeIsolated { relay in
        switch result {
        case .success:
          relay.deliveries.holds.end(on: relay)
          relay.worker.wake()
        case .failure(let error):
          _ = relay.requestError(error)  // logs the failure
          Task {
            try? await Task.sleep(for: Self.storePause)
            if stage != .stopping { moveStored(by: step, setTo: time) }
          }
        }
      }
    }
  }
}
