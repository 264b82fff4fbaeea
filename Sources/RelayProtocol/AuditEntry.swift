// SPDX-License-Identifier: Apache-2.0

/// An action of a backend in the audit log: a request with an API key, and its result.
///
/// It names the room and the users of the request. It has no text of a message, no other content, and no secret.
public struct AuditEntry: Equatable, Sendable {
  public var time: Timestamp
  /// The name of the API key.
  public var key: String
  /// The `operationId` in `openapi.json`.
  public var operation: String
  /// Is `nil` if the request names no room.
  public var room: RoomID?
  /// The users that the request names, at most ``maxUsers``.
  public var users: [UserID]
  /// The number of a message or a report, the id of a push, a notification or an erasure, or the name of a device. At
  /// most ``maxTargetLength`` bytes. Is `nil` if the path of the request has none of them.
  public var target: String?
  /// Is `nil` if the request has succeeded.
  public var error: ErrorCode?
  /// The idempotency key. Is `nil` if the request has none.
  public var request: String?
  /// The address of the client. Is `nil` if it is not known.
  public var address: String?
  /// The number of failed requests of the key that the log left out before this one, because there were too many.
  public var skipped: Int

  public init(
    time: Timestamp, key: String, operation: String, room: RoomID? = nil, users: [UserID] = [], target: String? = nil,
    error: ErrorCode? = nil, request: String? = nil, address: String? = nil, skipped: Int = 0
  ) {
    self.time = time
    self.key = key
    self.operation = operation
    self.room = room
    self.users = users
    self.target = target
    self.error = error
    self.request = request
    self.address = address
    self.skipped = skipped
  }

  /// A request to create a group names an owner and at most 100 members.
  public static let maxUsers = 101
  public static let maxTargetLength = 255
}

/// An entry of the audit log with its number.
public struct StoredAuditEntry: Equatable, Sendable {
  /// Increases with each entry. No number is used twice.
  public let id: Int64
  public let entry: AuditEntry

  public init(id: Int64, entry: AuditEntry) {
    self.id = id
    self.entry = entry
  }
}
