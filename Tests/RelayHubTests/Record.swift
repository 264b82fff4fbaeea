// SPDX-License-Identifier: Apache-2.0
import Synchronization

/// The lines that jobs and events write, in order.
final class Record: Sendable {
  private struct State {
    var lines: [String] = []
    var notification: (count: Int, act: @Sendable () -> Void)?
  }

  private let state = Mutex(State())

  var lines: [String] { state.withLock(\.lines) }

  func add(_ line: String) {
    let act = state.withLock { state in
      state.lines.append(line)
      return state.lines.count == state.notification?.count ? state.notification?.act : nil
    }
    act?()
  }

  /// Calls `act` once, when there are this many lines.
  func notify(at count: Int, _ act: @escaping @Sendable () -> Void) {
    state.withLock { $0.notification = (count, act) }
  }
}
