// SPDX-License-Identifier: Apache-2.0
import HTTPTypes
import Logging
import RelayCommands
import RelayFollowers
package import RelayHub
package import RelayIdentity
package import RelayJSON
package import RelayProtocol
package import RelayRequests
package import RelayState
import RelayStore

/// The HTTP side of the relay: it finds the route, authenticates the caller, and performs the command.
///
/// The state is private, and the methods run on the hub's thread.
package final class HTTPService: HTTPHandler {
  /// All routes. The first match answers. `/openapi.json` describes exactly these routes.
  static let routes = resources + clusterRoutes + Route.routes(of: Commands.all)

  /// The files of the page. They answer the paths that match no route.
  private let site: Site
  private var parser = JSONParser(maxDepth: Limits().nesting)
  /// Streams of server-sent events.
  private var streams: [ExchangeHandle: Task<Void, Never>] = [:]
  /// The open streams of each API key.
  private var streamCounts = StreamCounts()

  /// Is `nil` for a relay without a cluster.
  let cluster: (any ClusterOperations)?

  package init(site: Site, cluster: (any ClusterOperations)? = nil) {
    self.site = site
    self.cluster = cluster
  }

  /// Applies new settings.
  package func use(_ settings: RelaySettings) { parser = JSONParser(maxDepth: settings.limits.nesting) }

  // MARK: Requests

  package func answer(_ request: HTTPRequest, on core: isolated Core) async {
    let start = ContinuousClock.now
    let found = Self.route(of: request)
    let template = found?.route.path.description
    do {
      let response = try await response(to: request, at: found, on: core)
      let status = response.map { core.hub.respond(to: request.exchange, with: $0) }
      core.diagnostics.logRequest(request, route: template, status: status, error: nil, since: start)
    } catch {
      let methods = (error as? MethodRefusal)?.allowed
      let error =
        methods == nil ? core.requestError(error) : RequestError(.unsupported, "this path does not support the method")
      core.diagnostics.tally.count(error.code)
      core.hub.respond(to: request.exchange, with: .problem(error, allowed: methods))
      core.diagnostics.logRequest(request, route: template, status: error.status, error: error, since: start)
    }
  }

  private static func route(of request: HTTPRequest) -> (route: Route, parts: [String: String])? {
    guard let path = request.segments else { return nil }
    for route in routes {
      if let parts = route.path.match(path) { return (route, parts) }
    }
    return nil
  }

  /// Answers with the route, or with the page if no route matches. Returns `nil` if a stream has begun.
  private func response(
    to request: HTTPRequest, at found: (route: Route, parts: [String: String])?, on core: isolated Core
  ) async throws -> HTTPResponse? {
    guard let (route, parts) = found else { return try page(request) }
    guard let action = route.action(for: request.method) else {
      guard request.method == "OPTIONS" else { throw MethodRefusal(allowed: route.methods) }
      return .options(route.methods)
    }
    switch action.work {
    case .resource(let work, _): return try await work(self, core, request, parts)
    case .command(let command): return try await perform(command, request, parts, on: core)
    }
  }

  /// Authenticates the caller, checks the user's rate limit, and performs the command.
  private func perform(
    _ command: any Command.Type, _ http: HTTPRequest, _ parts: [String: String], on core: isolated Core
  ) async throws -> HTTPResponse {
    let declaration = command.declaration
    let caller = try await admit(http, declaration.callers, on: core)
    var user: UserHandle?
    if let owner = caller.owner { user = try await core.relay.people.retain(owner, on: core) }
    defer { if let user { core.hub.release(user) } }
    if let user { try core.spend(declaration.rate, of: user) }
    return try await HTTPResponse(
      core.relay.perform(command, request(http, parts, by: caller, declaration, core), on: core))
  }

  /// Authenticates the caller, and counts the request against the caller's limits. Throws `forbidden` if the caller is
  /// not one of `callers`.
  package func admit(
    _ request: HTTPRequest, _ callers: Declaration.Callers, on core: isolated Core
  ) async throws -> Caller {
    let caller = try await self.caller(request, admitsSuspendedKeys: callers == .ownDevice, on: core)
    try count(request, for: caller, core.hub)
    try request.checkContentType()
    try callers.check(caller)
    return caller
  }

  /// The same for a backend that requests an operation that is not a command. Throws `forbidden` if it is outside of
  /// the scope of the key.
  func admit(
    _ request: HTTPRequest, to operation: Operation, on core: isolated Core
  ) async throws -> Caller {
    let caller = try await admit(request, .backend, on: core)
    try await recordRefusal(of: operation, request, by: caller, on: core) { core throws(RequestError) in
      try core.relay.backends.check(operation, Fields([:]), by: caller)
    }
    return caller
  }

  /// Performs a check, and records its error in the audit log.
  func recordRefusal<T>(
    of operation: Operation, _ request: HTTPRequest, by caller: Caller, on core: isolated Core,
    _ check: (isolated Core) throws(RequestError) -> T
  ) async throws(RequestError) -> T {
    do throws(RequestError) {
      return try check(core)
    } catch {
      await core.relay.audit.record(operation, error.code, by: caller, from: request.address, on: core)
      throw error
    }
  }

  private func count(_ request: HTTPRequest, for caller: Caller, _ hub: Hub) throws(RequestError) {
    switch hub.identify(request.exchange, as: caller.owner) {
    case nil: return
    case .user:
      throw RequestError(
        .rateLimited, "too many requests in progress or unread answers of this user", retryAfter: .seconds(1))
    case .all: throw RequestError(.unavailable, "too many answers are unread", retryAfter: .seconds(1))
    }
  }

  /// The variables of paths that are numbers. All others are names.
  private static let numbers: Set = ["seq", "report"]

  /// Makes the request of a command from the members of the body, the path and the query.
  private func request(
    _ http: HTTPRequest, _ parts: [String: String], by caller: Caller, _ declaration: Declaration,
    _ core: isolated Core
  ) throws -> Request {
    var spelling: [UInt8]?
    let body: Fields
    switch declaration.body {
    case .ignored: body = Fields([:])
    case .optional: body = http.body.isEmpty ? Fields([:]) : try parser.parse(http.body)
    case .required: body = try parser.parse(http.body)
    case .spelled(let member): (body, spelling) = try parser.parse(http.body, spelling: member)
    }
    let path = parts.reduce(into: [String: JSON]()) {
      $0[$1.key] = Self.numbers.contains($1.key) ? .argument($1.value) : .string($1.value)
    }
    let fields = body.adding(path, at: "/path").adding(try http.arguments(declaration.query), at: "/query")
    var request = Request(fields, by: caller, core.settings)
    request.idempotencyKey = http.fields[.idempotencyKey]
    request.ifMatch = http.fields[.ifMatch]
    request.ifNoneMatch = http.fields[.ifNoneMatch]
    request.spelling = spelling
    request.address = http.address
    return request
  }

  /// Parses the body of a request for a resource that is not a command.
  package func parse(_ body: [UInt8]) throws(RequestError) -> Fields { try parser.parse(body) }

  private func page(_ request: HTTPRequest) throws -> HTTPResponse {
    // `*` means the server as a whole (RFC 9110, section 9.3.7).
    if request.path == "*" { return .options(["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"]) }
    guard let response = site.response(to: request) else {
      throw RequestError(.notFound, "this path does not exist")
    }
    let methods = ["GET", "HEAD", "OPTIONS"]
    if request.method == "OPTIONS" { return .options(methods) }
    guard methods.contains(request.method) else { throw MethodRefusal(allowed: methods) }
    return response
  }

  // MARK: Streams

  /// True if no stream is open.
  var hasNoStreams: Bool { streams.isEmpty && streamCounts.isEmpty }

  /// Begins the answer with a stream of server-sent events. The client receives every event after this call.
  /// - Parameter key: The API key, whose streams have a limit. Is `nil` in open mode.
  /// - Returns: False if the hub has rejected the stream, or the client has left.
  func beginStream(
    to exchange: ExchangeHandle, of key: BackendKey?, on core: isolated Core
  ) throws(RequestError) -> Bool {
    guard core.stage != .stopping else {
      throw RequestError(.unavailable, "the server is shutting down", retryAfter: .seconds(1))
    }
    let max = core.settings.streamsPerKey
    if let key, max > 0, streamCounts[key.name] >= max {
      throw RequestError(
        .rateLimited, "the API key \(key.name) has \(max) streams, the limit `connections.streamsPerKey`",
        retryAfter: .seconds(1))
    }
    core.hub.stream(to: exchange, headers: ServerSentEvent.headers)
    guard core.hub.write(Array(": listening\n\n".utf8), to: exchange) else { return false }
    if let key { streamCounts.add(exchange, of: key) }
    return true
  }

  /// Begins a stream of server-sent events.
  func stream(
    _ events: some AsyncSequence<ServerSentEvent, Never> & Sendable, to exchange: ExchangeHandle, of key: BackendKey?,
    on core: isolated Core
  ) throws(RequestError) {
    guard try beginStream(to: exchange, of: key, on: core) else { return }
    streams[exchange] = Task {
      for await event in events {
        guard core.hub.write(event.text, to: exchange) else { break }
      }
    }
  }

  package func streamClosed(_ exchange: ExchangeHandle) {
    streams.removeValue(forKey: exchange)?.cancel()
    streamCounts.remove(exchange)
  }

  package func endStreams(on core: isolated Core, where isEnded: (BackendKey) -> Bool) {
    for exchange in streamCounts.streams(where: isEnded) {
      if let stream = streams.removeValue(forKey: exchange) {
        stream.cancel()
        core.hub.finishStream(exchange)
      }
      core.relay.presenceStreams.end(exchange, on: core)
      // A stream that has not ended yet no longer counts.
      streamCounts.remove(exchange)
    }
  }

  package func endStreams(on core: isolated Core) {
    for (exchange, stream) in streams {
      stream.cancel()
      core.hub.endStream(exchange)
    }
    streams = [:]
  }
}

/// An event of a stream (HTML, "Server-sent events").
struct ServerSentEvent: Sendable {
  package let name: String
  package let json: [UInt8]

  /// The headers of a stream. `no-transform` keeps proxies from compressing a stream, and `X-Accel-Buffering` keeps
  /// nginx and proxies that follow it from buffering it. Both would delay events.
  package static let headers: HTTPFields = [
    .contentType: "text/event-stream", .cacheControl: "no-store, no-transform", .xAccelBuffering: "no",
  ]

  package var text: [UInt8] { Array("event: \(name)\ndata: ".utf8) + json + Array("\n\n".utf8) }
}
