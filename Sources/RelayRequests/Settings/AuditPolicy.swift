// SPDX-License-Identifier: Apache-2.0
package import RelayProtocol

/// The settings of the audit log, and the decision about each request. Pure.
package struct AuditPolicy: Equatable, Sendable {
  /// The time for which the log keeps an entry.
  package var retention = Duration.seconds(90 * 86_400)
  /// The maximum number of entries. 0 turns the log off.
  package var maxEntries = 1_000_000
  /// The operations with entries, also for failed requests: names, and groups of ``Operation/group``. If the list is
  /// empty, those of ``isUsual(_:)``.
  package var operations: [String] = []

  package init() {}

  package enum Decision: Equatable {
    /// The request becomes no entry.
    case ignored
    /// The client gets the answer when the entry is on disk.
    case beforeAnswer
    /// The answer does not wait for the entry.
    case late
    /// As `late`, within the rate of the failed requests of the key.
    case refused
  }

  /// Decides about a request with an API key.
  /// - Parameter error: Is `nil` if the request has succeeded.
  package func decide(_ operation: Operation, _ error: ErrorCode?) -> Decision {
    guard maxEntries > 0 else { return .ignored }
    let isNamed = names(operation)
    // A request that the scope forbids is always of interest, also one that reads.
    guard error == nil else { return isNamed || error == .forbidden ? .refused : .ignored }
    guard isNamed else { return .ignored }
    let isLate = operation.isRead || Self.traffic.contains(operation.name) || Self.ofNode.contains(operation.name)
    return isLate ? .late : .beforeAnswer
  }

  /// The changes with which a backend passes on what users do all the time.
  static let traffic: Set<String> = [
    "sendMessage", "editMessage", "notifyAnyway", "react", "unreact", "ring", "answerCall", "declineCall", "hangUpCall",
    "markRead", "reportFocus", "reportFilter", "setStatus", "respond", "notifyUser",
  ]

  /// The changes of a cluster's node. An operator needs them while the store waits for the log of the cluster.
  static let ofNode: Set<String> = ["stepDown", "publishSnapshot"]

  /// True for all changes except the traffic, and for the export, which gives away everything about a user.
  static func isUsual(_ operation: Operation) -> Bool {
    operation.name == "exportUser" || !operation.isRead && !traffic.contains(operation.name)
  }

  private func names(_ operation: Operation) -> Bool {
    operations.isEmpty
      ? Self.isUsual(operation) : operations.contains(operation.name) || operations.contains(operation.group)
  }
}
