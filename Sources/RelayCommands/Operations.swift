// SPDX-License-Identifier: Apache-2.0
package import RelayRequests

extension Operation {
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

  /// The operations of each ``Operation/group``.
  package static let groups = Dictionary(grouping: all, by: \.group).mapValues { Set($0.map(\.name)) }

  /// The names that stand for several operations in a scope. The audit log shows the actions and the addresses of all
  /// backends, and is for administrators: a scope with operations must name its operation.
  package static let scopeGroups = groups.mapValues { $0.subtracting([ListAuditEntries.operation]) }
    .merging(["lists": lists]) { $1 }

  /// The lists of an operator, which concern all rooms and users.
  private static let lists = Set(
    [ListAllRooms.self, ListUsers.self, ListAllSessions.self, ListPushes.self].map { (list: any Command.Type) in
      list.operation
    })
}

extension Command {
  /// The name of the type. A command whose name differs in `openapi.json` declares it.
  package static var operation: String {
    let name = "\(Self.self)"
    return name.prefix(1).lowercased() + name.dropFirst()
  }
}
