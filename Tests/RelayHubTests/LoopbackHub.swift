// SPDX-License-Identifier: Apache-2.0
import RelayProtocol
import Synchronization

@testable import RelayHub

/// A hub on a free port of the loopback interface.
final class LoopbackHub: @unchecked Sendable {
  // Until `start`, only the test uses the hub. After that, only jobs on its thread use it.
  private let hub: Hub
  private let thread: HubThread

  var port: UInt16 { hub.port }

  init(_ thread: HubThread, port: UInt16 = 0, address: String = "127.0.0.1") throws {
    self.thread = thread
    hub = try Hub(
      HubConfiguration(
        address: address, port: port, requests: [], limits: Limits(), grace: .seconds(10)),
      thread: thread
    ) { _, _ in }
  }

  /// Call this before ``start()``, or on the hub's thread.
  func onAlarm(_ act: @escaping @Sendable () -> Void) {
    hub.receive = { events in
      for case .alarm in events { act() }
    }
  }

  /// Call this on the hub's thread.
  func setAlarmNow() { hub.setAlarm(Timestamp(rawValue: 1)) }

  func start() { hub.start() }

  func stop() { thread.perform { self.hub.stop() } }

  /// Ends the loop and the thread.
  func end() {
    stop()
    thread.end()
  }
}
