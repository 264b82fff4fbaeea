// SPDX-License-Identifier: Apache-2.0
public import RelayIdentity

/// A single relay, or a node of a cluster.
public protocol RunningServer: Sendable {
  /// Applies the settings that need no restart. Throws ``StartupError`` and changes nothing if a setting is wrong.
  func reload(_ configuration: ServerConfiguration) async throws(StartupError)
  /// Serves until the ``EndRequest`` of the server is made, or the task is cancelled.
  func run() async throws
}

extension Server: RunningServer {}
