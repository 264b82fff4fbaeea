// SPDX-License-Identifier: Apache-2.0
import RelayHub
package import RelayProtocol

/// Work that is due at the time of an alarm. At most one run is in progress. If more becomes due meanwhile, another run
/// follows.
///
/// The methods run on the hub's thread.
package final class AlarmedWork {
  private let alarm: Alarms.Kind
  package private(set) var isRunning = false
  private var isMoreDue = false

  package init(_ alarm: Alarms.Kind) { self.alarm = alarm }

  /// Begins a run.
  /// - Parameter work: Returns the next time at which work is due, for which the alarm is set. After an error, the alarm is
  ///   due in a second. The owner must begin a run when its alarm is due.
  package func run(
    on core: isolated Core, _ work: nonisolated(nonsending) @escaping () async throws -> Timestamp?
  ) {
    core.setAlarm(nil, for: alarm)
    guard !isRunning else {
      isMoreDue = true
      return
    }
    isRunning = true
    Task {
      defer {
        isRunning = false
        // More may have become due after the run has read the store.
        if isMoreDue {
          isMoreDue = false
          run(on: core, work)
        }
      }
      do {
        // If work is already due again, other work runs first.
        if let next = try await work() { core.bringForward(alarm, to: max(next, core.hub.now + .milliseconds(10))) }
      } catch {
        core.logFailure(of: error)
        core.bringForward(alarm, to: core.hub.now + Core.storePause)
      }
    }
  }
}
