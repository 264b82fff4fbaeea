// SPDX-License-Identifier: Apache-2.0

/// An operation of the HTTP API, as the scopes of API keys name it: the `operationId` of `openapi.json`.
package struct Operation: Sendable {
  package let name: String
  /// True if the operation changes nothing.
  package let isRead: Bool
  package let reach: Reach
  /// The variables of the path and the query. Other members of a request do not limit its reach.
  let arguments: Set<String>

  /// The rooms and users that an operation reads or changes beyond those that the request names.
  package struct Reach: OptionSet, Sendable {
    package let rawValue: UInt8
    package init(rawValue: UInt8) { self.rawValue = rawValue }

    /// All rooms, unless the path or the query names a room.
    package static let rooms = Reach(rawValue: 1)
    /// All users, unless the path or the query names a user.
    package static let users = Reach(rawValue: 2)
    package static let everything: Reach = [.rooms, .users]
  }

  private init(_ name: String, isRead: Bool, reach: Reach = [], arguments: Set<String> = []) {
    self.name = name
    self.arguments = arguments
    self.isRead = isRead
    self.reach = reach
  }

  init(_ command: any Command.Type) {
    let declaration = command.declaration
    self.init(
      command.operation, isRead: declaration.isRead, reach: declaration.reach, arguments: declaration.arguments)
  }

  // MARK: Resources that are not commands

  /// The stream has only the users of the scope.
  package static let followPresence = Operation("followPresence", isRead: true)
  package static let followLockScreen = Operation("followLockScreen", isRead: true, reach: .everything)
  /// Also permits the details of `/ready`.
  package static let readMetrics = Operation("readMetrics", isRead: true)
  package static let getCluster = Operation("getCluster", isRead: true)
  package static let stepDown = Operation("stepDown", isRead: false, reach: .everything)
  package static let publishSnapshot = Operation("publishSnapshot", isRead: false, reach: .everything)

  static let resources = [
    followPresence, followLockScreen, readMetrics, getCluster, stepDown, publishSnapshot,
  ]

  /// All operations that need a caller: the routes of ``Commands/all``, and the resources.
  package static let all = Commands.all.filter { $0.declaration.route != nil }.map { Operation($0) } + resources

  package static let names = Set(all.map(\.name))

  /// The names that stand for several operations in the settings of the audit log.
  package static let groups = [
    "read": Set(all.filter(\.isRead).map(\.name)), "write": Set(all.filter { !$0.isRead }.map(\.name)),
  ]

  /// The names that stand for several operations in a scope. The audit log shows the actions and the addresses of all
  /// backends, and is for administrators: a scope with operations must name its operation.
  package static let scopeGroups = groups.mapValues { $0.subtracting([ListAuditEntries.operation]) }
}

extension Command {
  /// The name of the type. A command whose name differs in `openapi.json` declares it.
  package static var operation: String {
    let name = "\(Self.self)"
    return name.prefix(1).lowercased() + name.dropFirst()
  }
}
