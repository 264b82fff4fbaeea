// SPDX-License-Identifier: Apache-2.0

// Commands for backends and operators: profiles, disconnects, the queue of pushes, the linter, and simulated phones.

import PushLint
import RelayFollowers
import RelayGateways
import RelayHub
import RelayIdentity
import RelayJSON
package import RelayProtocol
package import RelayRequests
package import RelayState
import RelayStore

/// Changes the profile of a user for a backend.
struct SetProfile: Command {
  package static let declaration = Declaration("PUT", "/v1/users/{user}", by: .backend, fields: Self.fields)

  private static let fields = [
    FieldDeclaration(
      "name", .line(maxLength: User.maxNameLength), "The name that other users see. One line of at most 256 bytes."),
    FieldDeclaration(
      "avatar", .text(maxLength: User.maxAvatarLength),
      "An https URL of a picture that other users see, at most 2,048 bytes."),
    FieldDeclaration(
      "avatarSHA256", .value(["type": "string", "pattern": "^[0-9a-f]{64}$"]),
      """
      The SHA-256 hash of the picture, in lower-case hexadecimal digits. Needs an `avatar`, in the request or stored \
      before. Phones compare the picture with it.
      """),
    FieldDeclaration(
      "handle", .line(maxLength: User.maxHandleLength),
      """
      An address of the user, such as a telephone number. Phones match Allowed People of a Focus by it. Only phones \
      receive it. Without it they receive the user name. One line of at most 256 bytes.
      """),
    FieldDeclaration(
      "handleType", .line(maxLength: User.maxHandleLength),
      """
      `phoneNumber`, `emailAddress`, or a word of the app, in one line. Needs a `handle`, in the request or stored \
      before.
      """),
  ]

  private let fields: Fields
  private let user: UserID
  private let change: ProfileChange

  init(_ request: Request) throws(RequestError) {
    fields = request.fields
    user = try request.user
    try fields.checkNames(among: Self.fields.map(\.name))
    change = try ProfileChange(fields)
  }

  package func run(_ relay: Relay, on core: isolated Core) async throws -> Reply {
    let (profile, missing) = try await core.store.write { [user, change] transaction in
      var missing: ProfileChange.Missing?
      let profile = try transaction.people.changeProfile(of: user) { missing = change.apply(to: &$0) }
      return (profile, missing)
    }
    if let missing { throw fields.wrong(missing.member, "needs \(missing.needed)") }
    if let handle = core.hub.user(user) { core.hub.setProfile(profile, of: handle) }
    return Reply(Replies.profile(profile))
  }
}

extension Replies {
  static func profile(_ user: User) -> Reply.Members {
    {
      $0["user"] = user.id.rawValue
      $0["name"] = user.name
      $0["avatar"] = user.avatar
      $0["avatarSHA256"] = user.avatarSHA256
      $0["handle"] = user.handle
      $0["handleType"] = user.handleType
    }
  }
}

/// A change of some members of a profile. An absent member keeps its value, and null clears it.
private struct ProfileChange: Sendable {
  /// A member that is useless without another one, which the profile lacks.
  struct Missing: Sendable {
    let member: String
    let needed: String
  }

  private let values: User
  private let handleType: String?
  private let changed: Set<String>

  init(_ fields: Fields) throws(RequestError) {
    values = try fields.profile(of: UserID(unchecked: ""), hasAddress: true)
    changed = Set(fields.members.keys)
    let type = try fields.line("handleType", maxLength: User.maxHandleLength)
    handleType = type?.isEmpty == false ? type : nil
  }

  /// Applies the change to `stored`. If a member is missing, returns it and changes nothing.
  func apply(to stored: inout User) -> Missing? {
    var user = stored
    if changed.contains("name") { user.name = values.name }
    // The type belongs to the handle, and the hash to the picture. A new handle or picture without them clears them.
    if changed.contains("handle") { (user.handle, user.handleType) = (values.handle, nil) }
    if changed.contains("handleType") {
      if handleType != nil, user.handle == nil { return Missing(member: "handleType", needed: "handle") }
      user.handleType = handleType
    }
    if changed.contains("avatar") { (user.avatar, user.avatarSHA256) = (values.avatar, nil) }
    if changed.contains("avatarSHA256") {
      if values.avatarSHA256 != nil, user.avatar == nil { return Missing(member: "avatarSHA256", needed: "avatar") }
      user.avatarSHA256 = values.avatarSHA256
    }
    stored = user
    return nil
  }
}

/// Closes all sessions of a user.
struct Disconnect: Command {
  package static let operation = "disconnectUser"
  package static let declaration = Declaration(
    "POST", "/v1/users/{user}/disconnect", by: .backend, fields: [text], body: .optional)

  /// A close frame has 125 bytes, and two of them are the code.
  private static let text = Field<String?>.text(
    "reason", maxLength: 123, "The `reason` of `bye`, at most 123 bytes.")

  private let user: UserID
  private let reason: String

  init(_ request: Request) throws(RequestError) {
    user = try request.user
    reason = try Self.text.value(in: request) ?? "closed by an operator"
  }

  package func run(_ relay: Relay, on core: isolated Core) async throws -> Reply {
    let count = core.hub.user(user).map { core.hub.closeSessions(of: $0, .byOperator, reason) } ?? 0
    return Reply { $0.integer("sessions", count) }
  }
}

// MARK: The queue of pushes

/// Reads a page of the queue of pushes.
package struct ListPushes: Command {
  private static let state = Field<JobState?>.choice(
    "state", schema: "#/components/schemas/PushState",
    "Only pushes in this state. `dead` are dead letters: a gateway refused them permanently.")
  static let user = Field<UserID?>.name("user", "Only pushes to this user.")
  private static let note = Field<String?>.text(
    "note", maxLength: 256,
    "Only dead letters with this `note`, such as `DeviceTokenNotForTopic`. Needs the state `dead`.")
  static let after = Field<String?>.text(
    "after", maxLength: 64, "Only pushes older than this push, which is the last push of the page before.")
  private static let limit = Field<Int>.whole("limit", 1...100, default: 50, "Maximum number of pushes.")

  package static let declaration = Declaration(
    "GET", "/v1/pushes", by: .backend,
    fields: [Self.state, Self.user, Self.note, Self.after, Self.limit],
    reach: .everything)

  private let state: JobState?
  private let user: UserID?
  private let note: String?
  /// The last push of the previous page.
  private let after: String?
  private let limit: Int

  package init(_ request: Request) throws(RequestError) {
    state = try Self.state.value(in: request)
    user = try Self.user.value(in: request)
    note = try Self.note.value(in: request)
    if note != nil, state != .dead { throw request.fields.wrong("note", "needs the state dead") }
    after = try Self.after.value(in: request)
    limit = try Self.limit.value(in: request)
  }

  package func run(_ relay: Relay, on core: isolated Core) async throws -> Reply {
    // A reader's thread writes the body, because the summaries would take too much time of the hub's thread.
    let body = try await core.store.read { [self] reader -> [UInt8]? in
      // One push more than the page shows whether there are more.
      let found = try reader.queue.page(of: user, in: state, note: note, after: after, limit: limit + 1)
      guard let found else { return nil }
      return JSONWriter.object {
        $0.array("pushes") { list in
          for job in found.prefix(limit) { list.object { $0.members(of: job) } }
        }
        $0.bool("more", found.count > limit)
      }
    }
    guard let body else { throw Self.noPosition }
    return .text(body)
  }

  /// The error for an `after` that is no position. The command adds the location of the field.
  static var noPosition: RequestError {
    RequestError(.badRequest, "after is not a push, or the push is no longer kept", at: "/after")
  }
}

extension QueueReader {
  /// A page of pushes, the newest first. Is `nil` if the last push of the previous page is not a push.
  /// - Parameter push: The last push of the previous page.
  func page(
    of user: UserID?, in state: JobState?, note: String?, after push: String?, limit: Int
  ) throws -> [JobRecord]? {
    guard let push else { return try jobs(of: user, in: state, note: note, limit: limit) }
    guard let position = try position(of: push) else { return nil }
    return try jobs(of: user, in: state, note: note, after: position, limit: limit)
  }
}

/// Reads a push with the explanation of its decision.
struct GetPush: Command {
  package static let operation = "explainPush"
  package static let declaration = Declaration("GET", "/v1/pushes/{id}", by: .backend, errors: [.notFound])

  private let id: String
  private let caller: Caller

  init(_ request: Request) throws(RequestError) {
    id = try request.push
    caller = request.caller
  }

  init(id: String, by caller: Caller) {
    self.id = id
    self.caller = caller
  }

  package func run(_ relay: Relay, on core: isolated Core) async throws -> Reply {
    let found = try await core.store.read { [id] reader in
      try reader.queue.job(id).map { job in
        let body = JSONWriter.object {
          $0.members(of: job)
          $0.raw("explanation", job.explanation)
        }
        return (subject: PushTarget(job), body: body)
      }
    }
    guard let found else { throw Self.noPush }
    try found.subject.check(caller, relay, on: core)
    return .text(found.body)
  }

  fileprivate static var noPush: RequestError {
    RequestError(.notFound, "there is no such push, or it is no longer kept", at: "/path/id")
  }
}

/// Sends a dead letter again.
struct RetryPush: Command {
  package static let declaration = Declaration(
    "POST", "/v1/pushes/{id}/retry", by: .backend, body: .ignored, errors: [.notFound, .conflict])

  private let id: String
  private let caller: Caller

  init(_ request: Request) throws(RequestError) {
    id = try request.push
    caller = request.caller
  }

  package func run(_ relay: Relay, on core: isolated Core) async throws -> Reply {
    if caller.key?.scope != nil {
      guard let target = try await core.store.read({ [id] in try $0.queue.job(id).map(PushTarget.init) }) else {
        throw GetPush.noPush
      }
      try target.check(caller, relay, on: core)
    }
    let revived = try await core.store.write { [id] in try $0.queue.revive(id) }
    guard let (revival, user) = revived else { throw GetPush.noPush }
    switch revival {
    case .known: break
    case .refused(let refusal): throw RequestError(.conflict, refusal.rawValue, at: "/path/id")
    case .begun:
      // If this request ends early, the alarm decides the push.
      relay.deliveries.holds.expectEnd(by: core.hub.now, on: core)
      try await relay.deliveries.holds.decideAgain(user, on: core)
    }
    return try await GetPush(id: id, by: caller).run(relay, on: core)
  }
}

/// The user and the rooms of a push, for the scope of an API key.
private struct PushTarget: Sendable {
  let user: UserID
  let rooms: [RoomID]

  init(_ job: JobRecord) {
    user = job.user
    rooms = [job.room] + job.digest.map(\.room)
  }

  package func check(_ caller: Caller, _ relay: Relay, on core: isolated Core) throws(RequestError) {
    try relay.backends.check(user, by: caller, at: "/path/id")
    for room in rooms { try relay.backends.check(room, by: caller, at: "/path/id") }
  }
}

extension JSONWriter.Object {
  /// Writes a push without its explanation and its token.
  mutating func members(of job: JobRecord) {
    self["id"] = job.id
    if !job.room.isNotifications {
      self["room"] = job.room.rawValue
      integer("seq", job.seq)
    }
    self["user"] = job.user.rawValue
    self["device"] = job.device.rawValue
    self["platform"] = job.platform.rawValue
    self["state"] = job.state.rawValue
    self["summary"] = PushSummary(job).text
    self["level"] = job.level?.rawValue
    integer("created", job.created.rawValue)
    integer("due", job.due.rawValue)
    array("attempts") { list in
      for attempt in job.attemptLog { list.object { $0.members(of: attempt) } }
    }
    integer("finished", job.finishedAt?.rawValue)
    integer("received", job.received?.rawValue)
    integer("revived", job.revived?.rawValue)
    self["note"] = job.note
    if job.isNotifyAnyway { bool("notifyAnyway", true) }
    self["mergedInto"] = job.mergedInto
    guard !job.digest.isEmpty else { return }
    array("digest") { list in
      for part in job.digest {
        list.object {
          $0["room"] = part.room.rawValue
          $0.integer("seq", part.seq)
          $0.integer("count", part.count)
        }
      }
    }
  }

  private mutating func members(of attempt: PushAttempt) {
    integer("time", attempt.time.rawValue)
    integer("status", attempt.status)
    self["reason"] = attempt.reason
    self["words"] = attempt.words
  }
}

// MARK: Tools

/// Checks a push that another program would send.
struct LintPush: Command {
  package static let declaration = Declaration(
    "POST", "/v1/pushes/lint", room: .noRoom, fields: Self.fields, body: .spelled("payload"), isRead: true,
    errors: [.tooLarge])

  private static let lenient = Field<Bool?>.flag(
    "lenient",
    """
    true: the linter makes the corrections that are certain. The corrected errors become warnings, and the answer has \
    the corrected payload.
    """)
  private static let fields: [any DeclaredField] = [
    FieldDeclaration(
      "payload", .value([:]), isRequired: true,
      "The payload: its text, of at most 65,536 bytes, or the JSON value itself."),
    FieldDeclaration(
      "headers",
      .value([
        "type": "object", "maxProperties": .integer(Fields.maxHeaders),
        "additionalProperties": [
          "type": ["string", "number", "null"], "maxLength": .integer(Fields.maxHeaderLength),
        ],
      ]),
      "The headers of the push, with Apple's names. Without headers the linter checks the payload only."),
    Self.lenient,
  ]

  private let text: [UInt8]
  private let headers: [(name: String, value: String)]
  private let isLenient: Bool

  /// If `payload` is not a string, its original JSON text is the payload.
  init(_ request: Request) throws(RequestError) {
    let fields = request.fields
    let payload = try fields.required("payload", request.spelling)
    if case .string(let text) = fields.members["payload"] { self.text = Array(text.utf8) } else { text = payload }
    guard text.count <= PushLint.maxTextLength else {
      throw RequestError(.tooLarge, "payload must be at most \(PushLint.maxTextLength) bytes long", at: "/payload")
    }
    headers = try fields.object("headers")?.headers ?? []
    isLenient = try Self.lenient.value(in: request) ?? false
  }

  package func run(_ relay: Relay, on core: isolated Core) async throws -> Reply { .text(await report()) }

  /// Runs outside the hub's thread: the longest text takes milliseconds.
  @concurrent private func report() async -> [UInt8] {
    PushLint.check(text, headers: headers, isLenient: isLenient).json
  }
}

extension Fields {
  fileprivate static let maxHeaders = 32
  fileprivate static let maxHeaderLength = 4096

  /// The headers. The value of a number is its spelling.
  fileprivate var headers: [(name: String, value: String)] {
    get throws(RequestError) {
      guard members.count <= Self.maxHeaders else {
        throw RequestError(.badRequest, "headers must have at most \(Self.maxHeaders) members", at: pointer)
      }
      var headers: [(name: String, value: String)] = []
      for name in members.keys.sorted() {
        switch members[name] {
        case .number(let spelling): headers.append((name, spelling))
        case .string, .null:
          if let value = try string(name, maxLength: Self.maxHeaderLength) { headers.append((name, value)) }
        default: throw wrong(name, "must be a string or a number")
        }
      }
      return headers
    }
  }
}

/// Reads the lock screen of a simulated phone.
struct GetSimulatedPhone: Command {
  package static let operation = "getLockScreen"
  package static let declaration = Declaration(
    "GET", "/v1/simulator/devices/{token}", by: StoredText.simulatedPhone.callers, reach: .everything)

  private let token: String

  init(_ request: Request) throws(RequestError) {
    token = try request.simulatedPhone
  }

  package func run(_ relay: Relay, on core: isolated Core) async throws -> Reply {
    .text(relay.gateways.simulator.phone(token).json)
  }
}

/// Switches the network of a simulated phone on or off.
struct SetSimulatedPhone: Command {
  package static let operation = "setReachable"
  package static let declaration = Declaration(
    "PUT", "/v1/simulator/devices/{token}", by: .backend, fields: [network], reach: .everything)

  private static let network = Field<Bool?>.flag("isReachable", "True if pushes reach the phone.").required()

  private let token: String
  private let isReachable: Bool

  init(_ request: Request) throws(RequestError) {
    token = try request.simulatedPhone
    isReachable = try Self.network.value(in: request)
  }

  package func run(_ relay: Relay, on core: isolated Core) async throws -> Reply {
    relay.gateways.simulator.setReachable(isReachable, token)
    return Reply { $0.bool("isReachable", isReachable) }
  }
}

extension Request {
  /// The token of a simulated phone, which has the characters of a device name.
  package var simulatedPhone: String {
    get throws(RequestError) {
      let token: DeviceID = try fields.required("token", fields.name("token"))
      return token.rawValue
    }
  }
}
