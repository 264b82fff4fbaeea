// SPDX-License-Identifier: Apache-2.0

// The command that reads the audit log. `AuditLog` writes it.

import RelayIdentity
import RelayJSON
import RelayProtocol
import RelayRequests
import RelayState
import RelayStore

/// Lists the actions of backends.
struct ListAuditEntries: Command {
  private static let key = Field<String?>.text("key", maxLength: 64, "Only requests with the API key of this name.")
  private static let operationName = Field<String?>.text(
    "operation", maxLength: 64, "Only requests of this operation, such as `removeMember`.")
  private static let room = Field<RoomID?>.name("room", "Only requests about this room.")
  private static let user = Field<UserID?>.name("user", "Only requests that name this user.")
  private static let before = Field<Int64?>.seq(
    "before", "Only entries with a lower number, the newest first. Not together with `after`.")
  private static let after = Field<Int64?>.seq(
    "after", from: 0, "Only entries with a higher number, the oldest first.")
  private static let limit = Field<Int>.whole("limit", 1...1_000, default: 100, "Maximum number of entries.")

  package static let declaration = Declaration(
    "GET", "/v1/audit", by: .backend,
    fields: [Self.key, Self.operationName, Self.room, Self.user, Self.before, Self.after, Self.limit],
    reach: .everything)

  private let filter: AuditFilter
  private let position: AuditPosition
  private let limit: Int
  /// The rights of the key, which limit the users in the entries. Is `nil` without a scope.
  private let rights: KeyRights?

  init(_ request: Request) throws(RequestError) {
    let fields = request.fields
    filter = AuditFilter(
      key: try Self.key.value(in: request), operation: try Self.operationName.value(in: request),
      room: try Self.room.value(in: request), user: try Self.user.value(in: request))
    if let name = filter.operation, !Operation.names.contains(name) {
      throw fields.wrong("operation", "is not the name of an operation")
    }
    limit = try Self.limit.value(in: request)
    let before = try Self.before.value(in: request)
    let after = try Self.after.value(in: request)
    if before != nil, after != nil { throw fields.wrong("after", "must not come together with before") }
    position = after.map(AuditPosition.after) ?? .before(before ?? maxInteger)
    rights = request.caller.key?.scope?.rights
  }

  package func run(_ relay: Relay, on core: isolated Core) async throws -> Reply {
    // A reader's thread writes the text.
    let page = try await core.store.read { [filter, position, limit, rights] reader in
      let page = try reader.audit.page(filter, position, limit: limit)
      return JSONWriter.object {
        $0.array("entries") { list in
          for stored in page.entries {
            list.object { $0.members(of: stored.entry.limited(to: rights), number: stored.id) }
          }
        }
        $0.integer("next", page.next)
        $0.bool("more", page.next != nil)
      }
    }
    return .text(page)
  }
}

extension AuditEntry {
  /// The entry without the users outside of a scope. If it lacks some of them, it also lacks the target and the
  /// idempotency key, which may contain their names.
  func limited(to rights: KeyRights?) -> AuditEntry {
    guard let rights else { return self }
    var entry = self
    entry.users = users.filter { rights.include(user: $0.rawValue) }
    if entry.users.count < users.count { (entry.target, entry.request) = (nil, nil) }
    return entry
  }
}

extension JSONWriter.Object {
  fileprivate mutating func members(of entry: AuditEntry, number: Int64) {
    integer("entry", number)
    integer("time", entry.time.rawValue)
    self["key"] = entry.key
    self["operation"] = entry.operation
    self["result"] = entry.error?.rawValue ?? "ok"
    self["room"] = entry.room?.rawValue
    if !entry.users.isEmpty {
      array("users") { list in
        for user in entry.users { list.string(user.rawValue) }
      }
    }
    self["target"] = entry.target
    self["idempotencyKey"] = entry.request
    self["address"] = entry.address
    if entry.skipped > 0 { integer("skipped", entry.skipped) }
  }
}
