// SPDX-License-Identifier: Apache-2.0

// Commands of backends about the sessions and the devices of a user.

import RelayHub
import RelayJSON
import RelayProtocol
import RelayRequests
import RelayState
import RelayStore

/// Lists the open sessions of a user, in the order of their ids.
struct ListSessions: Command {
  static let after = Field<UInt64?>.made(
    "after", maxLength: 32, "a session", "The last session of the page before."
  ) { UInt64($0, radix: 36) }

  package static let declaration = Declaration(
    "GET", "/v1/users/{user}/sessions", by: .backend, fields: [Self.after, SharedFields.limit])

  private let user: UserID
  private let limit: Int
  /// The last session of the page before. Is 0 for the first page.
  private let after: UInt64

  init(_ request: Request) throws(RequestError) {
    user = try request.user
    limit = try SharedFields.limit.value(in: request)
    after = try Self.after.value(in: request) ?? 0
  }

  package func run(_ relay: Relay, on core: isolated Core) async throws -> Reply {
    let sessions = core.hub.user(user).map(core.hub.sessions(of:)) ?? []
    let later = sessions.filter { $0.rawValue > after }.sorted { $0.rawValue < $1.rawValue }
    let shown = later.prefix(limit).compactMap(core.hub.facts(of:))
    let hasMore = later.count > limit
    return Reply { [user] in
      $0.array("sessions") { list in
        for session in shown { list.object { $0.members(of: session, user) } }
      }
      $0.bool("more", hasMore)
    }
  }
}

/// Lists the devices of a user, in the order of their ids.
struct ListDevices: Command {
  private static let after = Field<DeviceID?>.name("after", "The last device of the page before.")

  package static let declaration = Declaration(
    "GET", "/v1/users/{user}/devices", by: .backend, fields: [Self.after, SharedFields.limit])

  private let user: UserID
  private let limit: Int
  /// The last device of the page before.
  private let after: DeviceID?

  init(_ request: Request) throws(RequestError) {
    user = try request.user
    limit = try SharedFields.limit.value(in: request)
    after = try Self.after.value(in: request)
  }

  package func run(_ relay: Relay, on core: isolated Core) async throws -> Reply {
    // One device more than the page has shows if there are more.
    let found = try await core.store.read { [user, after, limit] in
      try $0.people.devices(of: user, after: after, limit: limit + 1)
    }
    let warnings = relay.warnings(on: core)
    return Reply {
      $0.array("devices") { list in
        for found in found.prefix(limit) {
          list.object {
            Replies.device(found.device, warnings.about(found.device))(&$0)
            $0.integer("registered", found.registered.rawValue)
            $0.integer("reportKeys", found.reportKeys)
          }
        }
      }
      $0.bool("more", found.count > limit)
    }
  }
}

extension JSONWriter.Object {
  mutating func members(of session: OpenSession, _ user: UserID) {
    self["user"] = user.rawValue
    self["session"] = String(session.session.rawValue, radix: 36)
    self["device"] = session.device?.rawValue
    integer("since", session.since.rawValue)
    self["activity"] = session.activity.rawValue
    integer("expires", session.expires?.rawValue)
    integer("rooms", session.rooms)
  }
}
