// SPDX-License-Identifier: Apache-2.0
import Logging
package import RelayHub
import RelayIdentity
package import RelayJSON
package import RelayProtocol

/// An operation that sessions, users and backends request. ``Commands/all`` lists them.
///
/// A value is one request: `init` parses it, and `run` performs it. Both transports use the same type. Tests perform a
/// command as a backend or as a user, without a transport.
package protocol Command: Sendable {
  static var declaration: Declaration { get }
  /// The `operationId` in `openapi.json`, which the scopes of API keys contain.
  static var operation: String { get }

  /// Parses the request. Reads no state of the relay.
  init(_ request: Request) throws(RequestError)

  func run(on relay: isolated Relay) async throws -> Reply
}

extension Command {
  /// Calls `body` with the room of the request, after it has checked the caller and the rights that the declaration
  /// names. Keeps the room in memory until `body` returns.
  ///
  /// Throws `not_joined`, `not_found`, and `forbidden` if the caller lacks a right.
  func inRoom<T>(
    of request: Request, on relay: isolated Relay,
    _ body: nonisolated(nonsending) (RoomAccess) async throws -> T
  ) async throws -> T {
    let access = try await relay.rooms.admit(request, Self.declaration, on: relay)
    defer { relay.rooms.release(access.room, on: relay) }
    return try await body(access)
  }
}

/// The interface of a command: its frame, its route, and the callers that may request it.
package struct Declaration: Sendable {
  /// The type of the frame that a session sends. Is `nil` if sessions cannot request the command.
  package let frame: String?
  /// The HTTP method and path. Is `nil` if the command needs a session.
  package let route: (method: String, path: String)?
  /// The callers that may use the route.
  package let callers: Callers
  /// The rate that a request counts against: the rate of the user, and for a frame also the rate of the session.
  package let rate: Rate
  /// The use of a room that each request makes. Is `nil` only if all callers are backends, which need no rights.
  package let room: RoomUse?
  /// Further uses of a room: they need more than ``room``, or some requests make them instead.
  package let furtherUses: [RoomUse]
  /// The rights to the user's own account that the command needs.
  package let account: AccountRights
  /// The members of the request. Is empty if the files of the documents describe them.
  package let fields: [FieldDeclaration]
  /// The parameters of the query.
  package let query: [String: Parameter]
  /// The body.
  package let body: Body
  /// True if the command changes nothing.
  package let isRead: Bool
  /// The rooms and users that the command reads or changes beyond those that the request names.
  package let reach: Operation.Reach
  /// The variables of the path and the query.
  let arguments: Set<String>
  /// The errors that do not follow from the other properties.
  private let ownErrors: Set<RequestError.Kind>

  package enum Callers: Sendable {
    /// Only backends.
    case backend
    /// Users with a token, and backends.
    case users
    /// The extensions of an app with their report key, in addition to users and backends.
    case reporters
    /// The same, for a request that ends the device of the report key. A sign-out must always work, so the key needs no
    /// right to the account, and its user may be suspended.
    case ownDevice

    /// True if the callers include the owner of a report key.
    package var includeReporters: Bool { self == .reporters || self == .ownDevice }
  }

  package enum Parameter: Sendable {
    case number, text
    /// `true` or `false`.
    case flag
  }

  package enum Body: Equatable, Sendable {
    /// The command has no body. The relay ignores one.
    case ignored
    case required
    /// An optional body. An absent body counts as an empty object.
    case optional
    /// A required body. ``Request/spelling`` is the original JSON text of this member.
    case spelled(String)
  }

  package init(
    frame: String? = nil, _ method: String? = nil, _ path: String? = nil, by callers: Callers = .users,
    room: RoomUse? = nil, also furtherUses: [RoomUse] = [], rate: Rate = .request, account: AccountRights = [],
    fields: [any DeclaredField] = [], body: Body? = nil, isRead: Bool? = nil, reach: Operation.Reach = [],
    errors: Set<RequestError.Kind> = []
  ) {
    self.frame = frame
    route = method.flatMap { method in path.map { (method, $0) } }
    self.callers = callers
    self.rate = rate
    self.room = room
    self.furtherUses = furtherUses
    self.account = account
    self.fields = fields.map(\.declaration)
    let variables = Set(path.map(Self.variables) ?? [])
    let own = method == "GET" || method == "DELETE" ? self.fields.filter { !variables.contains($0.name) } : []
    query = Dictionary(uniqueKeysWithValues: own.map { ($0.name, $0.type.parameter) })
    self.body = body ?? (method == "PUT" || method == "POST" ? .required : .ignored)
    self.isRead = isRead ?? (method == "GET")
    self.reach = reach
    arguments = variables.union(query.keys)
    ownErrors = errors
  }

  /// The declared members of the body.
  package var bodyFields: [FieldDeclaration] {
    body == .ignored ? [] : fields.filter { !arguments.contains($0.name) }
  }

  /// The names of the variables of a path, such as `room` of `/v1/rooms/{room}`.
  package static func variables(of path: String) -> [String] {
    path.split(separator: "/").filter { $0.first == "{" }.map { String($0.dropFirst().dropLast()) }
  }

  /// The rights that the caller needs in the room of the request.
  package var rights: Rights { room?.rights ?? [] }

  /// The errors that the command may return. HTTP adds those of the transport and of authentication.
  package var errors: Set<RequestError.Kind> {
    // Each request counts against a rate, and may need the store.
    var errors = ownErrors.union([.rateLimited, .unavailable, .internal])
    let path = route?.path ?? ""
    if frame != nil || body != .ignored || !query.isEmpty || path.contains("{") { errors.insert(.badRequest) }
    // Each route may reject a caller, or the path of another user.
    if route != nil || !account.isEmpty || !rights.isEmpty { errors.insert(.forbidden) }
    switch room?.scope {
    case .joined, .member:
      errors.insert(.notJoined)
      // A backend may name a room that does not exist.
      if path.contains("{room}") { errors.insert(.notFound) }
    case .any, .invited, .found, .noRoom, nil: break
    }
    return errors
  }

  /// True if the declaration contains the error.
  func declares(_ error: any Error) -> Bool {
    // The caller has left, or the hub has unloaded an object of the request. A session then gets no answer.
    if case HubRefusal.gone = error { return true }
    return RequestError(known: error).map { errors.contains($0.kind) } ?? true
  }
}

/// A request to a command, from either transport.
package struct Request: Sendable {
  /// The members of the frame or of the body, and the parameters of the path and of the query.
  package let fields: Fields
  package let caller: Caller
  package let settings: Relay.Settings
  /// False for a frame without `id`.
  var expectsReply = true
  /// The header `Idempotency-Key`.
  package var idempotencyKey: String?
  /// The header `If-Match`.
  package var ifMatch: String?
  /// The header `If-None-Match`.
  package var ifNoneMatch: String?
  /// The original JSON text of the member that ``Declaration/Body/spelled(_:)`` names.
  package var spelling: [UInt8]?
  /// The address of the client. Is `nil` for a frame.
  package var address: ClientAddress?

  package init(_ fields: Fields, by caller: Caller, _ settings: Relay.Settings) {
    self.fields = fields
    self.caller = caller
    self.settings = settings
  }

  package var limits: Limits { settings.limits }

  package var room: RoomID { get throws(RequestError) { try fields.required("room", fields.name("room")) } }

  package var seq: Int64 {
    get throws(RequestError) { try fields.required("seq", fields.integer("seq", 1...maxInteger)) }
  }

  /// The device that the request is about.
  package var device: DeviceID { get throws(RequestError) { try fields.required("device", fields.name("device")) } }

  /// The id of a push.
  package var push: String {
    get throws(RequestError) { try fields.required("id", fields.string("id", maxLength: .max)) }
  }

  /// The user of the session, or the `{user}` of the path.
  var anyUser: UserID {
    get throws(RequestError) {
      if case .session(let session) = caller { return session.name }
      return try fields.members["user"] == .string("me") ? caller.me : fields.required("user", fields.name("user"))
    }
  }

  /// The user of the session, or the `{user}` of the path if the caller may act for that user.
  package var user: UserID {
    get throws(RequestError) {
      let user = try anyUser
      if let own = caller.owner, own != user {
        throw RequestError(.forbidden, "this belongs to another user", at: fields.pointer(to: "user"))
      }
      return user
    }
  }

  /// The user that the caller acts for. A backend names the user in the member `key`, or in the header
  /// `X-Stillwire-User`.
  package func actor(_ key: String) throws(RequestError) -> UserID {
    let source: String
    switch caller {
    case .backend(let acting, _): return try fields.required(key, fields.name(key) ?? acting)
    // A frame has no such member. The relay ignores it.
    case .session(let session): return session.name
    case .user: source = "token"
    case .reporter: source = "report key"
    }
    guard !fields.has(key) else {
      throw RequestError(.forbidden, "the \(source) sets \(key)", at: fields.pointer(to: key))
    }
    return try caller.me
  }

  /// The idempotency key in the header, or else in the member `key`. Both must be well-formed.
  package var key: String? {
    get throws(RequestError) {
      let key = try fields.idempotencyKey()
      guard let header = idempotencyKey else { return key }
      guard (1...IdempotencyKey.maxLength).contains(header.utf8.count) else {
        throw RequestError(
          .badRequest, "Idempotency-Key must be 1 to \(IdempotencyKey.maxLength) bytes long",
          at: "/headers/idempotency-key")
      }
      return header
    }
  }
}

/// The result of a command, for either transport.
package struct Reply {
  package typealias Members = (inout JSONWriter.Object) -> Void

  /// The members of the `ok` frame. Over HTTP they are the body, unless ``text`` is set.
  package let members: Members
  /// The status of the response.
  package let status: Int
  /// The body, if it is already JSON text. Only for commands without a frame.
  package private(set) var text: [UInt8]?
  /// The media type of the body. Is `nil` for JSON.
  package private(set) var mediaType: String?
  /// The entity tag of the body. Clients cache the body and send the tag in `If-None-Match`.
  package private(set) var tag: String?
  /// The room that the request has created or found, for the audit log.
  package private(set) var room: RoomID?
  /// The kind of a frame with messages, by which the hub sends it. Is `nil` for other frames.
  package private(set) var page: Hub.Page?

  package init(status: Int = 200, _ members: @escaping Members) {
    self.members = members
    self.status = status
  }

  /// The reply to a request that reads messages.
  package func sent(as page: Hub.Page) -> Reply {
    var reply = self
    reply.page = page
    return reply
  }

  /// The reply of a command that finds the name of the room itself.
  package func about(_ room: RoomID) -> Reply {
    var reply = self
    reply.room = room
    return reply
  }

  /// A reply without members: status 204.
  package static var nothing: Reply { Reply(status: 204) { _ in } }

  /// The reply with the entity tag of its body.
  /// - Parameter isKnown: True if the client's cached copy is current: status 304.
  package func tagged(_ tag: String, isKnown: Bool? = nil) -> Reply {
    var reply = isKnown == true ? Reply(status: 304) { _ in } : self
    if isKnown == true { reply.text = [] }
    reply.tag = tag
    return reply
  }

  package static func text(_ text: [UInt8]) -> Reply {
    var reply = Reply { _ in }
    reply.text = text
    return reply
  }

  /// Several JSON objects, each on a line of its own (JSON Lines).
  package static func lines(_ text: [UInt8]) -> Reply {
    var reply = Reply.text(text)
    reply.mediaType = "application/jsonl"
    return reply
  }

  /// - Parameter isKnown: True if the client's cached copy is current: status 304.
  package static func document(_ text: [UInt8], tag: String, isKnown: Bool) -> Reply {
    var reply = Reply(status: isKnown ? 304 : 200) { _ in }
    reply.text = isKnown ? [] : text
    reply.tag = tag
    return reply
  }
}

extension Relay {
  /// Checks that the caller may request a command, parses the request and performs it. Records the action of a backend.
  /// The transport has already charged the rate limit.
  package func perform(_ command: any Command.Type, _ request: Request) async throws -> Reply {
    let action = audit.begin(Operation(command), request, on: self)
    do {
      let reply = try await run(command, request)
      if let action { await audit.end(action, room: reply.room, on: self) }
      return reply
    } catch {
      if !command.declaration.declares(error) {
        // The documents of the interface lack this error. Tests fail if a log contains this line.
        diagnostics.log.error("\(command) does not declare \(requestError(error).kind)")
      }
      if let action { await audit.end(action, RequestError(known: error)?.code ?? .internal, on: self) }
      throw error
    }
  }

  private func run(_ command: any Command.Type, _ request: Request) async throws -> Reply {
    try command.declaration.callers.check(request.caller)
    if request.caller.key?.scope != nil {
      try backends.check(Operation(command), request.fields, by: request.caller)
    }
    // A frame is always about the session's own user. Over HTTP, the path may name another user. This error takes
    // precedence over a missing right to the account.
    let parsed = request.caller.session == nil ? try command.init(request) : nil
    let needsAccount = if case .reporter = request.caller { false } else { !command.declaration.account.isEmpty }
    if needsAccount, let permissions = access.permissions(of: request.caller, on: self) {
      try permissions.check(command.declaration.account)
    }
    let ready = try parsed ?? command.init(request)
    // A repeated erasure returns the one in progress.
    if !(ready is EraseUser) { try erasures.check(request, command.declaration) }
    do {
      return try await ready.run(on: self)
    } catch let error as RequestError {
      throw request.fields.located(error)
    }
  }
}

extension Declaration.Callers {
  /// Throws `forbidden` unless these callers include the caller.
  package func check(_ caller: Caller) throws(RequestError) {
    switch (caller, self) {
    case (.backend, _): return
    case (.reporter, _) where includeReporters: return
    case (.reporter, _):
      throw RequestError(
        .forbidden,
        "a report key permits Focus reports, filter reports, responses, receipts, reads of a call and answers to calls of "
          + "its device, and the end of this device"
      )
    case (.user, .backend), (.session, .backend): throw RequestError(.forbidden, "this needs an API key")
    case (.user, _), (.session, _): return
    }
  }
}
