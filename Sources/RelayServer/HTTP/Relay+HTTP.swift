// SPDX-License-Identifier: Apache-2.0
import RelayHub
import RelayProtocol

/// The HTTP API: which resource is asked, by whom, and the answer.
extension Relay {
  /// All resources; `/openapi.json` describes exactly these. The first that matches a path is asked.
  static let routes: [Route] =
    operationRoutes + messageRoutes + sentMessageRoutes + memberRoutes + presenceRoutes + focusRoutes
    + preferenceRoutes + userRoutes + deviceRoutes + webPushRoutes + sessionRoutes + lintRoutes + decisionRoutes
    + pushRoutes
    + notificationRoutes + receiptRoutes + categoryRoutes + responseRoutes + simulatorRoutes

  func answer(_ request: HTTPRequest) async {
    do {
      if let response = try await response(to: request) { hub.respond(to: request.exchange, with: response) }
    } catch {
      let methods = (error as? MethodRefusal)?.allowed
      let error = requestError(error)
      tally.count(error.code)
      hub.respond(to: request.exchange, with: .problem(error, allowed: methods))
    }
  }

  /// nil: a stream has begun.
  private func response(to request: HTTPRequest) async throws -> HTTPResponse? {
    let path = PathTemplate.split(request.path)
    for route in Self.routes {
      guard let parts = route.path.match(path) else { continue }
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
    return try page(request)
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
    guard case .user(let user) = caller else { return try await work(call) }
    guard case .anyone(let rate) = admission else { throw RequestError(.forbidden, "this needs an API key") }
    let handle = try await retain(user.id)
    defer { hub.release(handle) }
    try spend(rate, of: handle)
    return try await work(call)
  }

  private func count(_ request: HTTPRequest, for caller: Caller) throws(RequestError) {
    let user: UserID? = if case .user(let user) = caller { user.id } else { nil }
    guard hub.identify(request.exchange, as: user) else {
      throw RequestError(
        .rateLimited, "too many requests under way or answers unread, of this user", retryAfter: .seconds(1))
    }
  }

  private func spend(_ rate: Rate, of user: UserHandle) throws(RequestError) {
    if let delay = hub.takeToken(rate, of: user) {
      throw RequestError(.rateLimited, "too many requests", retryAfter: delay)
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
