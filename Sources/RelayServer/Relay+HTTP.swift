// SPDX-License-Identifier: Apache-2.0
import RelayGateways
import RelayHub
import RelayProtocol
import RelayStore

/// The HTTP API: who asks, for what, and the answer.
extension Relay {
  /// Who makes an HTTP request.
  enum Caller {
    /// A backend, which may act for any user. `acting` is whom it names as itself.
    case backend(acting: UserID?)
    case user(User)
  }

  func answer(_ request: HTTPRequest) async {
    do {
      if let response = try await response(to: request) { hub.respond(to: request.exchange, with: response) }
    } catch {
      let methods = (error as? MethodRefusal)?.allowed
      hub.respond(to: request.exchange, with: .problem(requestError(error), allowed: methods))
    }
  }

  /// nil: a stream has begun.
  private func response(to request: HTTPRequest) async throws -> HTTPResponse? {
    let path = request.path.split(separator: "/", omittingEmptySubsequences: false).dropFirst().map(String.init)
    guard path.first == "v1" else { return try page(request) }
    let method = request.method
    switch (path.count, path.dropFirst().first) {
    case (2, "connect"):
      throw RequestError(.unsupported, "sessions connect here with a WebSocket upgrade", status: 426)
    case (4, "users") where path[3] == "focus":
      try allow(method, ["PUT"])
      return try await putFocus(request, path[2])
    case (4, "users") where path[3] == "presence":
      try allow(method, ["GET"])
      let caller = try await caller(request)
      let user = try user(path[2], caller)
      if case .user(let viewer) = caller {
        return .json(200, try await entry(of: user, seenBy: viewer.id))
      }
      return .json(200, try await entry(of: user, seenBy: nil))
    case (5, "users") where path[3] == "devices":
      try allow(method, ["PUT", "DELETE"])
      return try await device(request, path[2], path[4])
    case (4, "rooms") where path[3] == "messages":
      try allow(method, ["GET", "POST"])
      return try await messages(request, path[2])
    case (4, "simulator") where path[2] == "devices":
      try allow(method, ["GET"])
      return try await lockScreen(request, path[3])
    case (5, "simulator") where path[2] == "devices" && path[4] == "events":
      try allow(method, ["GET"])
      return try await lockScreenEvents(request, path[3])
    default:
      throw RequestError(.notFound, "there is nothing at this path")
    }
  }

  private func page(_ request: HTTPRequest) throws -> HTTPResponse {
    switch request.path {
    case "/live":
      try allow(request.method, ["GET", "HEAD"])
      return .json(200, JSONWriter.object { $0["status"] = "live" })
    case "/ready":
      try allow(request.method, ["GET", "HEAD"])
      return .json(
        isReady ? 200 : 503, JSONWriter.object { [isReady] in $0["status"] = isReady ? "ready" : "stopping" })
    default:
      guard let response = site.response(for: request.path, ifNoneMatch: request.ifNoneMatch) else {
        throw RequestError(.notFound, "there is nothing at this path")
      }
      try allow(request.method, ["GET", "HEAD"])
      return response
    }
  }

  private func allow(_ method: String, _ methods: [String]) throws(MethodRefusal) {
    guard methods.contains(method) else { throw MethodRefusal(allowed: methods) }
  }

  // MARK: Who asks

  private func caller(_ request: HTTPRequest) async throws -> Caller {
    switch authentication {
    case .open:
      guard let name = request.user else { return .backend(acting: nil) }
      guard let user = UserID(rawValue: name) else {
        throw RequestError(.badRequest, "X-Stillwire-User \(Fields.badName(UserID.self))")
      }
      return .backend(acting: user)
    case .tokens(let verifier):
      guard request.user == nil else {
        throw RequestError(.forbidden, "X-Stillwire-User is for open mode; send a token")
      }
      guard let token = request.authorization.flatMap(bearerToken) else {
        throw RequestError(.unauthorized, "a token is needed: Authorization: Bearer")
      }
      do {
        return .user(try await verifier.verify(token))
      } catch {
        throw error.requestError
      }
    }
  }

  /// The `{user}` of a path, where `me` is the caller.
  private func user(_ text: String, _ caller: Caller) throws(RequestError) -> UserID {
    if text == "me" {
      switch caller {
      case .user(let user): return user.id
      case .backend(.some(let user)): return user
      case .backend(nil): throw RequestError(.badRequest, "me is nobody without X-Stillwire-User")
      }
    }
    guard let user = UserID(rawValue: text) else {
      throw RequestError(.badRequest, "the user in the path \(Fields.badName(UserID.self))")
    }
    return user
  }

  /// The same, of somebody as whom the caller may act.
  private func ownUser(_ text: String, _ caller: Caller) throws(RequestError) -> UserID {
    let user = try user(text, caller)
    if case .user(let own) = caller, own.id != user {
      throw RequestError(.forbidden, "this is another user's")
    }
    return user
  }

  // MARK: Users

  private func putFocus(_ request: HTTPRequest, _ name: String) async throws -> HTTPResponse {
    let user = try ownUser(name, await caller(request))
    let report = try FocusReport(parser.parse(request.body), device: nil)
    let handle = try await retain(user)
    defer { hub.release(handle) }
    let result = try await apply(report, to: handle, cause: nil)
    return .json(
      200,
      JSONWriter.object(Replies.focus(applied: result.applied, isFocused: result.isFocused, since: result.since)))
  }

  private func device(_ request: HTTPRequest, _ name: String, _ device: String) async throws -> HTTPResponse {
    let user = try ownUser(name, await caller(request))
    guard let device = DeviceID(rawValue: device) else {
      throw RequestError(.badRequest, "the device in the path \(Fields.badName(DeviceID.self))")
    }
    let wanted =
      request.method == "DELETE" ? .forget(device) : try DeviceRequest(parser.parse(request.body), device: device)
    let handle = try await retain(user)
    defer { hub.release(handle) }
    try await apply(wanted, to: handle)
    if request.method == "DELETE" { return HTTPResponse(status: 204) }
    guard case .register(let registered) = wanted else {
      return .json(200, JSONWriter.object { $0["device"] = device.rawValue })
    }
    return .json(
      200,
      JSONWriter.object {
        $0["device"] = registered.id.rawValue
        $0["app"] = registered.app
        $0["platform"] = registered.platform.rawValue
      })
  }

  // MARK: Messages

  private func messages(_ request: HTTPRequest, _ name: String) async throws -> HTTPResponse {
    let caller = try await caller(request)
    guard let room = RoomID(rawValue: name) else {
      throw RequestError(.badRequest, "the room in the path \(Fields.badName(RoomID.self))")
    }
    pin(room)
    defer { unpin(room) }
    let handle = try await RoomPolicy(for: room).isStored ? load(room) : hub.room(room)
    if case .user(let user) = caller {
      guard let handle, let member = hub.user(user.id), hub.isMember(member, of: handle) else {
        throw RequestError(.notJoined, "you are no member of the room")
      }
    }
    guard let handle else { throw RequestError(.notFound, "there is no such room") }
    guard request.method == "POST" else {
      let query = try HistoryQuery(request.queryFields, most: limits.history)
      return .json(200, JSONWriter.object(try await historyMembers(room, query)))
    }
    return try await post(request, caller, to: room, handle)
  }

  private func post(
    _ request: HTTPRequest, _ caller: Caller, to room: RoomID, _ handle: RoomHandle
  ) async throws -> HTTPResponse {
    let fields = try parser.parse(request.body)
    let body = try fields.required("body", fields.raw("body"))
    let key = try request.idempotencyKey ?? fields.string("key", longest: Self.longestKey)
    guard key.map({ (1...Self.longestKey).contains($0.utf8.count) }) ?? true else {
      throw RequestError(.badRequest, "the idempotency key must be 1 to \(Self.longestKey) bytes long")
    }
    let sender: User
    switch caller {
    case .user(let user):
      guard !fields.has("from") else { throw RequestError(.forbidden, "from comes from the token", at: "/from") }
      sender = User(id: user.id)
    case .backend(let acting):
      sender = User(id: try fields.required("from", fields.name("from") ?? acting))
    }
    guard RoomPolicy(for: room).isStored else {
      guard let sent = hub.publish(from: sender.id, body: body, in: handle) else { throw HubRefusal.gone }
      return .json(201, JSONWriter.object(Replies.sent(sent.seq, sent.time, in: room, isDuplicate: false)))
    }
    let stored = try await withCheckedContinuation { continuation in
      append(body, key: key, to: room, handle, from: sender, session: nil) { continuation.resume(returning: $1) }
    }.get()
    return .json(
      stored.isDuplicate ? 200 : 201,
      JSONWriter.object(Replies.sent(stored.seq, stored.time, in: room, isDuplicate: stored.isDuplicate)))
  }

  static let longestKey = 128

  // MARK: The simulated phones

  private func backendOnly(_ request: HTTPRequest) async throws {
    guard case .backend = try await caller(request) else {
      throw RequestError(.forbidden, "this needs an API key")
    }
  }

  private func lockScreen(_ request: HTTPRequest, _ token: String) async throws -> HTTPResponse {
    try await backendOnly(request)
    return .json(200, simulator.notifications(of: token).json)
  }

  private func lockScreenEvents(_ request: HTTPRequest, _ token: String) async throws -> HTTPResponse? {
    try await backendOnly(request)
    let exchange = request.exchange
    let events = simulator.events(of: token)
    hub.stream(
      to: exchange, headers: [("Content-Type", "text/event-stream"), ("Cache-Control", "no-store")])
    _ = hub.write(Array(": listening\n\n".utf8), to: exchange)  // now what is listed afterwards is not missed
    streams[exchange] = Task {
      for await event in events {
        let text = Array("event: \(event.name)\ndata: ".utf8) + event.json + Array("\n\n".utf8)
        guard hub.write(text, to: exchange) else { break }
      }
    }
    return nil
  }
}

/// A method that a path does not know.
struct MethodRefusal: Error {
  let allowed: [String]
}

extension HTTPRequest {
  /// The arguments as the fields of a request: whole numbers as numbers, all else as strings.
  var queryFields: Fields {
    var members: [String: JSON] = [:]
    for (name, value) in query {
      members[name] = Int64(value) == nil ? .string(value) : .number(value)
    }
    return Fields(members)
  }
}

extension HTTPResponse {
  static func json(_ status: Int, _ body: [UInt8]) -> HTTPResponse {
    HTTPResponse(
      status: status, headers: [("Content-Type", "application/json"), ("Cache-Control", "no-store")], body: body)
  }

  /// A problem document (RFC 9457).
  static func problem(_ error: RequestError, allowed: [String]? = nil) -> HTTPResponse {
    let body = JSONWriter.object {
      $0["type"] = "about:blank"
      $0["title"] = error.code.rawValue
      $0.integer("status", error.status)
      $0["code"] = error.code.rawValue
      $0["detail"] = error.message
      $0["at"] = error.at
      $0.decimal("retryAfter", error.retryAfter?.seconds)
    }
    var headers = [
      (name: "Content-Type", value: "application/problem+json"), (name: "Cache-Control", value: "no-store"),
    ]
    if let allowed { headers.append(("Allow", allowed.joined(separator: ", "))) }
    if error.code == .unauthorized { headers.append(("WWW-Authenticate", "Bearer")) }
    if error.status == 426 { headers.append(("Upgrade", "websocket")) }
    if let retryAfter = error.retryAfter {
      headers.append(("Retry-After", String(Int(retryAfter.seconds.rounded(.up)))))
    }
    return HTTPResponse(status: error.status, headers: headers, body: body)
  }
}
