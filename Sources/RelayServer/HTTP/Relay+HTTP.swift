// SPDX-License-Identifier: Apache-2.0
import RelayHub
import RelayProtocol

/// The HTTP API: which resource is asked, by whom, and the answer.
extension Relay {
  /// All resources; `/openapi.json` describes exactly these. The first that matches a path is asked.
  static let routes: [Route] =
    operationRoutes + messageRoutes + sentMessageRoutes + memberRoutes + presenceRoutes + focusRoutes
    + preferenceRoutes + userRoutes + deviceRoutes + webPushRoutes + sessionRoutes + lintRoutes + decisionRoutes
    + pushRoutes + notificationRoutes + receiptRoutes + reportKeyRoutes + categoryRoutes + responseRoutes
    + simulatorRoutes

  func answer(_ request: HTTPRequest) async {
    let start = ContinuousClock.now
    let found = Self.route(of: request)
    let template = found?.route.path.description
    do {
      let response = try await response(to: request, at: found)
      let status = response.map { hub.respond(to: request.exchange, with: $0) }
      logRequest(request, route: template, status: status, error: nil, since: start)
    } catch {
      let methods = (error as? MethodRefusal)?.allowed
      let error = requestError(error)
      tally.count(error.code)
      hub.respond(to: request.exchange, with: .problem(error, allowed: methods))
      logRequest(request, route: template, status: error.status, error: error, since: start)
    }
  }

  private static func route(of request: HTTPRequest) -> (route: Route, parts: [String: String])? {
    let path = PathTemplate.split(request.path)
    for route in routes {
      if let parts = route.path.match(path) { return (route, parts) }
    }
    return nil
  }

  /// Returns `nil` if a stream has begun.
  private func response(
    to request: HTTPRequest, at found: (route: Route, parts: [String: String])?
  ) async throws -> HTTPResponse? {
    guard let (route, parts) = found else { return try page(request) }
    guard let action = route.action(for: request.method) else {
      guard request.method == "OPTIONS" else { throw MethodRefusal(allowed: route.methods) }
      return .options(route.methods)
    }
    switch action.work {
    case .open(let work): return try await work(self, request, parts)
    case .called(let admission, let work):
      return try await admit(request, parts, admission) { try await work(self, $0) }
    }
  }

  /// Finds out who calls and whether they may, and lets a user's request through while the rate allows it.
  private func admit(
    _ request: HTTPRequest, _ parts: [String: String], _ admission: Route.Admission,
    _ work: (HTTPCall) async throws -> HTTPResponse?
  ) async throws -> HTTPResponse? {
    let caller = try await caller(request)
    try count(request, for: caller)
    try request.checkContentType()
    let call = HTTPCall(request: request, caller: caller, parts: parts)
    guard let owner = caller.owner, let rate = try admission.rate(for: caller) else { return try await work(call) }
    let handle = try await retain(owner)
    defer { hub.release(handle) }
    try spend(rate, of: handle)
    return try await work(call)
  }

  private func count(_ request: HTTPRequest, for caller: Caller) throws(RequestError) {
    switch hub.identify(request.exchange, as: caller.owner) {
    case nil: return
    case .user:
      throw RequestError(
        .rateLimited, "too many requests under way or answers unread, of this user", retryAfter: .seconds(1))
    case .all: throw RequestError(.unavailable, "too many answers are unread", retryAfter: .seconds(1))
    }
  }

  /// Takes tokens of a user's rate; throws `rate_limited`.
  func spend(_ rate: Rate, of user: UserHandle, count: Int = 1) throws(RequestError) {
    if count > 0, let delay = hub.takeTokens(rate, of: user, count: count) {
      throw RequestError(.rateLimited, "too many requests", retryAfter: delay)
    }
  }

  /// Takes a token of a room's rate; throws `rate_limited`.
  func spend(_ rate: Rate, of room: RoomHandle) throws(RequestError) {
    if let delay = hub.takeToken(rate, of: room) {
      throw RequestError(.rateLimited, "too many requests to the room", retryAfter: delay)
    }
  }

  /// Takes the tokens of a message that a user sends, but for the sender's first, which the request has taken.
  func spend(sendTo room: RoomHandle, by user: UserHandle, pushes: Bool) throws(RequestError) {
    if let delay = pushes ? hub.takeSend(to: room, by: user) : hub.takeToken(.send, of: room) {
      throw RequestError(.rateLimited, "too many messages to the room", retryAfter: delay)
    }
  }

  private func page(_ request: HTTPRequest) throws -> HTTPResponse {
    guard let response = site.response(to: request) else {
      throw RequestError(.notFound, "there is nothing at this path")
    }
    let methods = ["GET", "HEAD", "OPTIONS"]
    if request.method == "OPTIONS" { return .options(methods) }
    guard methods.contains(request.method) else { throw MethodRefusal(allowed: methods) }
    return response
  }
}
