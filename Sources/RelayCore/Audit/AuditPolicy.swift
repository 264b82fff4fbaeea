// SPDX-License-Identifier: Apache-2.0
package import RelayJSON
package import RelayProtocol

/// The settings of the audit log, and the decision about each request. Pure.
package struct AuditPolicy: Equatable, Sendable {
  /// The time for which the log keeps an entry.
  package var retention = Duration.seconds(90 * 86_400)
  /// The maximum number of entries. 0 turns the log off.
  package var maxEntries = 1_000_000
  /// The operations with entries, also for failed requests: names, and groups of ``Operation/groups``. If the list is
  /// empty, those of ``usual``.
  package var operations: [String] = [] { didSet { names = Self.names(of: operations) } }

  private var names = AuditPolicy.usual

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
    let isNamed = names.contains(operation.name)
    // A request that the scope forbids is always of interest, also one that reads.
    guard error == nil else { return isNamed || error == .forbidden ? .refused : .ignored }
    guard isNamed else { return .ignored }
    let isLate = operation.isRead || Self.traffic.contains(operation.name) || Self.ofNode.contains(operation.name)
    return isLate ? .late : .beforeAnswer
  }

  /// The changes with which a backend passes on what users do all the time.
  package static let traffic: Set<String> = [
    "sendMessage", "editMessage", "notifyAnyway", "react", "unreact", "ring", "answerCall", "declineCall", "hangUpCall",
    "markRead", "reportFocus", "reportFilter", "setStatus", "respond", "notifyUser",
  ]

  /// The changes of a cluster's node. An operator needs them while the store waits for the log of the cluster.
  package static let ofNode: Set<String> = ["stepDown", "publishSnapshot"]

  /// All changes except the traffic, and the export, which gives away everything about a user.
  package static let usual = Set(Operation.all.filter { !$0.isRead }.map(\.name)).subtracting(traffic)
    .union(["exportUser"])

  private static func names(of items: [String]) -> Set<String> {
    guard !items.isEmpty else { return usual }
    return items.reduce(into: []) { $0.formUnion(Operation.groups[$1] ?? [$1]) }
  }
}

/// The room, the users and the target that a request of a backend names. Pure.
package struct AuditSubject: Equatable {
  package var room: RoomID?
  /// In the order of the members, each one once.
  package var users: [UserID] = []
  package var target: String?
  /// The idempotency key.
  package var request: String?

  /// - Parameter arguments: The variables of the path.
  package init(_ fields: Fields, acting: UserID?, arguments: Set<String>, idempotencyKey: String?) {
    if case .string(let name)? = fields.members["room"] { room = RoomID(rawValue: name) }
    if let acting { users.append(acting) }
    for key in NamedMembers.users {
      for case .string(let name) in NamedMembers.values(of: key, in: fields).prefix(AuditEntry.maxUsers) {
        guard let user = UserID(rawValue: name), !users.contains(user), users.count < AuditEntry.maxUsers else {
          continue
        }
        users.append(user)
      }
    }
    for key in Self.targets where arguments.contains(key) && target == nil {
      switch fields.members[key] {
      case .string(let text), .number(let text):
        // SQLite truncates a text at NUL.
        let isFit = text.utf8.count <= AuditEntry.maxTargetLength && !text.utf8.contains(0)
        target = isFit ? text : nil
      default: break
      }
    }
    // In some paths `key` has another meaning.
    let own = arguments.contains("key") ? nil : (try? fields.idempotencyKey())
    request = [idempotencyKey, own].lazy.compactMap { $0 }.first {
      (1...IdempotencyKey.maxLength).contains($0.utf8.count)
    }
  }

  /// The variables of paths with the target. A key of a reaction and a token of a device are not among them: the former
  /// is content, and the latter a secret.
  private static let targets = ["seq", "report", "id", "device"]
}
