// SPDX-License-Identifier: Apache-2.0

// The command that reads the audit log. `AuditLog` writes it.

import RelayIdentity
import RelayJSON
import RelayProtocol
import RelayStore

/// Lists the actions of backends.
struct ListAuditEntries: Command {
  package static let declaration = Declaration(
    "GET", "/v1/audit", by: .backend,
    query: [
      "key": .text, "operation": .text, "room": .text, "user": .text, "before": .number, "after": .number,
      "limit": .number,
    ], reach: .everything)

  private let filter: AuditFilter
  private let position: AuditPosition
  private let limit: Int
  /// The rights of the key, which limit the users in the entries. Is `nil` without a scope.
  private let rights: KeyRights?

  private static let maxLimit = 1_000
  private static let usualLimit = 100
  /// The maximum length of the name of a key or an operation, in bytes.
  private static let maxLength = 64

  init(_ request: Request) throws(RequestError) {
    let fields = request.fields
    filter = AuditFilter(
      key: try fields.string("key", maxLength: Self.maxLength),
      operation: try fields.string("operation", maxLength: Self.maxLength), room: try fields.name("room"),
      user: try fields.name("user"))
    if let name = filter.operation, !Operation.names.contains(name) {
      throw fields.wrong("operation", "is not the name of an operation")
    }
    limit = Int(try fields.integer("limit", 1...Int64(Self.maxLimit)) ?? Int64(Self.usualLimit))
    let before = try fields.integer("before", 1...maxInteger)
    let after = try fields.integer("after", 0...maxInteger)
    if before != nil, after != nil { throw fields.wrong("after", "must not come together with before") }
    position = after.map(AuditPosition.after) ?? .before(before ?? maxInteger)
    rights = request.caller.key?.scope?.rights
  }

  package func run(on relay: isolated Relay) async throws -> Reply {
    // A reader's thread writes the text.
    let page = try await relay.store.read { [filter, position, limit, rights] reader in
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
