// SPDX-License-Identifier: Apache-2.0
import Logging
import RelayDelivery
import RelayHub
import RelayProtocol
import RelayStore

/// Work that is due at a time of the wall clock, and the reaction to a wall clock that is set.
extension Relay {
  /// Arms the hub's one alarm for the next end of a hold or planned report.
  func armAlarm() { hub.setAlarm([holdAlarm, reports.nextPlan].compactMap { $0 }.min()) }

  func alarmCame() {
    if let time = holdAlarm, time <= hub.now { endHolds() }
    reportHidden()
    armAlarm()
  }

  /// Keeps the length of waits and planned reports, and decides again all pushes that depend on the wall clock: quiet hours
  /// may have begun or ended, and a Focus may be stale. The hub has armed its alarms anew.
  func clockWasSet(by step: Duration) {
    log.notice("the wall clock was set", metadata: ["seconds": "\(step.components.seconds)"])
    reports.movePlans(by: step)
    releases.move(by: step)
    armAlarm()
    moveStored(by: step, setTo: hub.now)
  }

  /// Moves what is stored. It is submitted at once, so that it is stored before the messages that are sent at the new time.
  /// - Parameter time: The new time at which the step was noticed, also when this is tried again.
  private func moveStored(by step: Duration, setTo time: Timestamp) {
    store.submit { transaction in
      try transaction.decideHeldAgain(by: time)
      try transaction.moveDue(by: step, setTo: time)
    } completion: { [self] result in
      assumeIsolated { relay in
        switch result {
        case .success:
          relay.endHolds()
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
