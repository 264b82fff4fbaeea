// SPDX-License-Identifier: Apache-2.0
import Logging
import RelayHub

/// Binds the port of a node again and again. Between a standby and a leader the port is free for a moment, and another
/// process may take it, for example for an outgoing connection.
enum PortRetry {
  static let pause = Duration.milliseconds(50)
  /// The time after which the node gives up. Its service manager starts it again.
  static let patience = Duration.seconds(5)

  /// Calls `bind` until it succeeds, fails for another reason, or the patience ends. Logs the first failure and the end.
  static func perform<Value>(
    _ log: Logger, wait: (Duration) async -> Void = { try? await Task.sleep(for: $0) },
    _ bind: () throws(HubError) -> Value
  ) async throws(HubError) -> Value {
    var waited = Duration.zero
    while true {
      do {
        let value = try bind()
        if waited > .zero { log.notice("the port is free again", metadata: ["waited": "\(waited)"]) }
        return value
      } catch {
        guard error.code == .addressInUse, waited < patience else { throw error }
        if waited == .zero { log.warning("\(error): the node tries again for \(patience)") }
      }
      await wait(pause)
      waited += pause
    }
  }
}
