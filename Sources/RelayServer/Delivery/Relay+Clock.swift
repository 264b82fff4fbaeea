// SPDX-License-Identifier: Apache-2.0
import Logging
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
    armAlarm()
    Task { await decideAgain(after: step) }
  }

  private func decideAgain(after step: Duration) async {
    let now = hub.now
    do {
      try await store.write { transaction in
        try transaction.decideHeldAgain(by: now)
        try transaction.moveDue(by: step, now: now)
      }
    } catch {
      _ = requestError(error)  // says so in the log
      try? await Task.sleep(for: Self.storePause)
      if stage != .stopping { await decideAgain(after: step) }
      return
    }
    endHolds()
    worker.wake()
  }
}
