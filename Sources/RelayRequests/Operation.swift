// SPDX-License-Identifier: Apache-2.0

/// An operation of the HTTP API, as the scopes of API keys name it: the `operationId` of `openapi.json`.
package struct Operation: Sendable {
  package let name: String
  /// True if the operation changes nothing.
  package let isRead: Bool
  package let reach: Reach
  /// The variables of the path and the query. Other members of a request do not limit its reach.
  package let arguments: Set<String>

  /// The name that stands for several operations in the settings of the audit log and in a scope.
  package var group: String { isRead ? "read" : "write" }

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

  package init(_ name: String, isRead: Bool, reach: Reach = [], arguments: Set<String> = []) {
    self.name = name
    self.arguments = arguments
    self.isRead = isRead
    self.reach = reach
  }
}
