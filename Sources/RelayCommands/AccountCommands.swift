// SPDX-License-Identifier: Apache-2.0

// Commands about a user's own account: Focus and filter reports, preferences, blocks, devices, report keys and tokens.
// `People` and `Access` apply the changes.

import RelayDelivery
import RelayHub
import RelayIdentity
import RelayJSON
package import RelayProtocol
package import RelayRequests
package import RelayState
import RelayStore

/// Reports the Focus of a device.
struct SetFocus: Command {
  package static let operation = "reportFocus"
  package static let declaration = Declaration(
    frame: "focus", "PUT", "/v1/users/{user}/focus", by: .reporters, room: .noRoom, rate: .focus,
    fields: FocusReport.fields, errors: [.tooLarge])

  private let caller: Caller
  private let user: UserID
  private let report: FocusReport

  init(_ request: Request) throws(RequestError) {
    caller = request.caller
    user = try request.user
    report = try FocusReport(request.fields, device: caller.device)
    try caller.check(report.device)
  }

  package func run(_ relay: Relay, on core: isolated Core) async throws -> Reply {
    try await relay.people.withUser(user, on: core) { handle in
      let result = try await relay.people.apply(report, to: handle, requester: caller.session, on: core)
      return Reply {
        $0.bool("applied", result.applied)
        $0.integer("number", result.newestNumber)
        $0.boolOrNull("isFocused", result.isFocused)
        $0.integer("focusSince", result.since?.rawValue)
        $0.integer("settlesAt", result.settles?.rawValue)
      }
    }
  }
}

/// Reports the Focus filter of a device.
struct SetFilter: Command {
  package static let operation = "reportFilter"
  package static let declaration = Declaration(
    frame: "filter", "PUT", "/v1/users/{user}/filter", by: .reporters, room: .noRoom, rate: .focus,
    fields: FilterReport.fields, errors: [.tooLarge])

  private let user: UserID
  private let report: FilterReport

  init(_ request: Request) throws(RequestError) {
    user = try request.user
    report = try FilterReport(request.fields, device: request.caller.device)
    try request.caller.check(report.device)
  }

  package func run(_ relay: Relay, on core: isolated Core) async throws -> Reply {
    try await relay.people.withUser(user, on: core) { handle in
      let change = try await relay.people.apply(report, to: handle, on: core)
      return Reply {
        $0.bool("applied", change.isApplied)
        $0.integer("number", change.newestNumber)
      }
    }
  }
}

// MARK: Preferences

struct GetPreferences: Command {
  package static let declaration = Declaration(
    "GET", "/v1/users/{user}/preferences", room: .noRoom, reach: .rooms)

  private let user: UserID

  init(_ request: Request) throws(RequestError) {
    user = try request.user
  }

  package func run(_ relay: Relay, on core: isolated Core) async throws -> Reply {
    try await relay.people.withUser(user, on: core) { handle in
      let recipient = relay.recipients[handle]
      return Reply(Replies.preferences(recipient.preferences, relay.warnings(on: core).about(recipient)))
    }
  }
}

/// Changes the preferences that the request contains.
struct SetPreferences: Command {
  package static let declaration = Declaration(
    frame: "preferences", "PUT", "/v1/users/{user}/preferences", room: .noRoom, account: .preferences,
    fields: Preferences.fields, reach: .rooms, errors: [.tooLarge])

  private let user: UserID
  private let fields: Fields

  init(_ request: Request) throws(RequestError) {
    user = try request.user
    fields = request.fields
  }

  package func run(_ relay: Relay, on core: isolated Core) async throws -> Reply {
    try await relay.people.withUser(user, on: core) { handle in
      let preferences = try await relay.people.change(preferences: fields, of: handle, on: core)
      let warnings = relay.warnings(on: core).about(relay.recipients[handle])
      return Reply(Replies.preferences(preferences, warnings))
    }
  }
}

// MARK: Blocks

/// Blocks users.
package struct Block: Command {
  package static let operation = "blockUser"
  package static let declaration = Declaration(
    frame: "block", "PUT", "/v1/users/{user}/blocks/{other}", room: .noRoom, account: .preferences,
    fields: BlockChange.fields, body: .ignored, errors: [.tooLarge])

  private let blocks: BlockChange

  package init(_ request: Request) throws(RequestError) {
    blocks = try BlockChange(request)
    try blocks.checkOthers()
  }

  package func run(_ relay: Relay, on core: isolated Core) async throws -> Reply {
    try await blocks.apply(true, relay, on: core)
    guard blocks.caller.session == nil else { return .nothing }
    return Reply {
      $0["user"] = blocks.user.rawValue
      $0["blocked"] = blocks.others[0].rawValue
    }
  }
}

/// Unblocks users.
struct Unblock: Command {
  package static let operation = "unblockUser"
  package static let declaration = Declaration(
    frame: "unblock", "DELETE", "/v1/users/{user}/blocks/{other}", room: .noRoom, account: .preferences,
    fields: BlockChange.fields)

  private let blocks: BlockChange

  init(_ request: Request) throws(RequestError) {
    blocks = try BlockChange(request)
    // A frame may contain the own user among the others.
    if request.caller.session == nil { try blocks.checkOthers() }
  }

  package func run(_ relay: Relay, on core: isolated Core) async throws -> Reply {
    try await blocks.apply(false, relay, on: core)
    return .nothing
  }
}

/// The users that a request blocks or unblocks: `users` of a frame, `{other}` of a path.
private struct BlockChange {
  let caller: Caller
  let user: UserID
  let others: [UserID]
  /// The JSON pointer of `others`.
  let pointer: String

  private static let users = Field<[UserID]?>.names("users", max: 256).required().onlyFrames
  static let fields: [any DeclaredField] = [users, SharedFields.otherInPath]

  /// The number of names that costs as much as one request.
  private static let namesPerRequest = 10

  init(_ request: Request) throws(RequestError) {
    caller = request.caller
    user = try request.user
    let fields = request.fields
    if caller.session == nil {
      others = [try SharedFields.otherInPath.value(in: fields)]
      pointer = fields.pointer(to: "other")
    } else {
      others = try Self.users.value(in: fields)
      pointer = fields.pointer(to: "users")
    }
  }

  func checkOthers() throws(RequestError) {
    guard !others.contains(user) else {
      throw RequestError(.badRequest, "users cannot block themselves", at: pointer)
    }
  }

  func apply(_ isBlocked: Bool, _ relay: Relay, on core: isolated Core) async throws {
    try await relay.people.withUser(user, on: core) { handle in
      // The transport has charged one request. Further names cost more.
      if caller.owner != nil { try core.spend(.request, of: handle, count: others.count / Self.namesPerRequest) }
      try await relay.people.setBlocked(isBlocked, others, by: handle, on: core)
    }
  }
}

// MARK: Devices

struct GetDevice: Command {
  package static let declaration = Declaration(
    "GET", "/v1/users/{user}/devices/{device}", room: .noRoom, errors: [.notFound])

  private let user: UserID
  private let device: DeviceID

  init(_ request: Request) throws(RequestError) {
    user = try request.user
    device = try request.device
  }

  package func run(_ relay: Relay, on core: isolated Core) async throws -> Reply {
    try await relay.people.withUser(user, on: core) { handle in
      guard let found = relay.recipients[handle].devices.first(where: { $0.id == device }) else {
        throw RequestError(.notFound, "there is no such device", at: "/path/device")
      }
      return Reply(Replies.device(found, relay.warnings(on: core).about(found)))
    }
  }
}

/// Registers a device for pushes. A null token forgets it.
struct RegisterDevice: Command {
  package static let declaration = Declaration(
    frame: "device", "PUT", "/v1/users/{user}/devices/{device}", room: .noRoom, account: .devices,
    fields: DeviceRequest.fields, errors: [.tooLarge, .unsupported])

  private let request: Request
  private let user: UserID
  private let change: DeviceRequest

  init(_ request: Request) throws(RequestError) {
    self.request = request
    user = try request.user
    change = try DeviceRequest(request.fields, for: request.settings.pushTargets)
  }

  package func run(_ relay: Relay, on core: isolated Core) async throws -> Reply {
    try await relay.people.withUser(user, on: core) { handle in
      switch change {
      case .forget(let device):
        try await relay.people.forget(device, of: handle, on: core)
        guard request.caller.session == nil else { return .nothing }
        return Reply { $0["device"] = device.rawValue }
      case .register(let device):
        // Without a reply the client could not receive a key.
        let key = request.expectsReply ? ReportKey() : nil
        relay.people.noteGrants(of: request.caller, on: core)
        let ended = try await relay.people.register(device, of: handle, issuing: key, on: core)
        let warnings = relay.warnings(on: core).about(device) + ended
        guard request.caller.session != nil else { return Reply(Replies.device(device, warnings, issued: key)) }
        return Reply {
          warnings.write(to: &$0)
          $0["reportKey"] = key?.text
        }
      }
    }
  }
}

/// Forgets a device. A report key may forget its own device, so that a sign-out needs no valid token.
struct ForgetDevice: Command {
  package static let declaration = Declaration(
    "DELETE", "/v1/users/{user}/devices/{device}", by: .ownDevice, room: .noRoom, account: .devices)

  private let user: UserID
  private let device: DeviceID

  init(_ request: Request) throws(RequestError) {
    user = try request.user
    device = try request.device
    try request.caller.check(device, at: request.fields.pointer(to: "device"))
  }

  package func run(_ relay: Relay, on core: isolated Core) async throws -> Reply {
    try await relay.people.withUser(user, on: core) { handle in
      try await relay.people.forget(device, of: handle, on: core)
      return .nothing
    }
  }
}

// MARK: Keys and tokens

/// Revokes the report keys of one device.
struct RevokeDeviceReportKeys: Command {
  package static let operation = "revokeReportKeys"
  package static let declaration = Declaration(
    "DELETE", "/v1/users/{user}/devices/{device}/report-keys", room: .noRoom, account: .devices, errors: [.notFound])

  private let user: UserID
  private let device: DeviceID

  init(_ request: Request) throws(RequestError) {
    user = try request.user
    device = try request.device
  }

  package func run(_ relay: Relay, on core: isolated Core) async throws -> Reply {
    guard try await core.store.write({ [user, device] in try $0.devices.revokeReportKeys(of: device, of: user) })
    else {
      throw RequestError(.notFound, "there is no such device", at: "/path/device")
    }
    return .nothing
  }
}

/// Revokes the report keys of all devices of a user.
struct RevokeReportKeys: Command {
  package static let operation = "revokeAllReportKeys"
  package static let declaration = Declaration("DELETE", "/v1/users/{user}/report-keys", by: .backend)

  private let user: UserID

  init(_ request: Request) throws(RequestError) {
    user = try request.user
  }

  package func run(_ relay: Relay, on core: isolated Core) async throws -> Reply {
    try await core.store.write { [user] in try $0.devices.revokeReportKeys(of: user) }
    return .nothing
  }
}

/// Gives a session a newer token of the same user. The permissions of the new token apply at once.
struct RefreshToken: Command {
  package static let declaration = Declaration(
    frame: "refresh", room: .noRoom, fields: [newToken],
    errors: [.unauthorized, .forbidden, RequestError.Kind(.unsupported)])

  private static let newToken = Field<String?>.text("token", maxLength: nil, "A JWT.").required()

  private let session: SessionCaller
  private let verifier: TokenVerifier
  private let token: String

  init(_ request: Request) throws(RequestError) {
    session = request.session
    guard case .tokens(let verifier) = request.settings.authentication else {
      throw RequestError(.unsupported, "there are no tokens in open mode", at: "/token")
    }
    self.verifier = verifier
    token = try Self.newToken.value(in: request)
  }

  package func run(_ relay: Relay, on core: isolated Core) async throws -> Reply {
    let identity: Identity
    do {
      identity = try await verifier.verify(token)
    } catch {
      throw error.requestError
    }
    guard identity.id == session.name else {
      throw RequestError(.forbidden, "the token belongs to another user", at: "/token")
    }
    let (user, session) = (session.user, session.session)
    let withdrawn = try await relay.access.withdrawnRooms(identity.permissions, of: user, on: core)
    // A backend may have restricted the user during the read.
    if let refusal = relay.restrictions.refusal(of: identity, on: core) { throw refusal.requestError }
    relay.access.admit(session, as: identity, on: core)
    relay.people.note(identity.permissions, withdrawing: withdrawn, of: user, on: core)
    relay.access.withdraw(from: session, identity.permissions, on: core)
    relay.people.evaluateWatches(of: session, user, on: core)
    relay.showProfile(of: identity.user, user, requester: session, on: core)
    return Reply { $0.integer("expires", identity.expires?.rawValue) }
  }
}
