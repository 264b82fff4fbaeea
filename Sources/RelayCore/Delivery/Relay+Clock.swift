// SPDX-License-Identifier: Apache-2.0
import Logging
import RelayDelivery
import RelayHub
import RelayProtocol
import RelayPush
import RelayStore

/// The reaction to a change of the wall clock.
extension Relay {
  /// Shifts waits and planned reports, so that they keep their length. Decides again all pushes that depend on the wall
  /// clock: quiet hours may have begun or ended, and a Focus report may have expired. The hub has re-armed its own
  /// alarms.
  func clockWasSet(by step: Duration) {
    diagnostics.log.notice("the wall clock was set", metadata: ["seconds": "\(step.components.seconds)"])
    deliveries.clockWasSet(by: step, on: self)
    moveStored(by: step, setTo: hub.now)
  }

  /// Shifts the stored due times. The write is submitted at once, so that it is stored before messages that are sent at
  /// the new time.
  /// - Parameter time: The new time when the step was noticed. Retries use the same time.
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
