// SPDX-License-Identifier: Apache-2.0

/// Repeats work after a failure of the store, when ``Core/storePause`` has passed. At most one repetition waits.
///
/// The caller keeps what the work repeats. The methods run on the hub's thread.
package final class StorePause {
  private var isWaiting = false

  package init() {}

  package func begin(on core: isolated Core, then work: @escaping () -> Void) {
    guard !isWaiting else { return }
    isWaiting = true
    Task {
      _ = core  // the task runs on the hub's thread
      try? await Task.sleep(for: Core.storePause)
      isWaiting = false
      work()
    }
  }
}
