// SPDX-License-Identifier: Apache-2.0
import RelayCommands
import RelayHub
import RelayProtocol
import RelayRequests
import RelayState

/// A resource of the HTTP API: its path, and an action for each method.
///
/// It is hand-written, because the hub serves HTTP itself and delivers complete requests. The routers of web frameworks
/// need the server of their framework. The tests that check `openapi.json` also read the table of routes.
struct Route: Sendable {
  package let path: PathTemplate
  package let actions: [Action]

  package struct Action: Sendable {
    package let method: String
    package let work: Work
  }

  package enum Work: Sendable {
    case command(any Command.Type)
    /// A resource that authenticates its callers itself, or needs no caller. `errors` has only the resource's own
    /// errors.
    case resource(Resource, errors: Set<RequestError.Kind>)
  }

  /// A function that answers a request. The dictionary has the named parts of the path. It returns `nil` if a stream
  /// has begun.
  typealias Resource =
    @Sendable (HTTPService, isolated Core, HTTPRequest, [String: String]) async throws -> HTTPResponse?

  init(_ path: String, _ actions: [Action]) {
    self.path = PathTemplate(path)
    self.actions = actions
  }

  static func resource(
    _ method: String, _ path: String, errors: Set<RequestError.Kind> = [], _ work: @escaping Resource
  ) -> Route {
    Route(path, [Action(method: method, work: .resource(work, errors: errors))])
  }

  /// The routes of all commands that declare one, in the order of the commands. Commands with the same path share a
  /// route.
  static func routes(of commands: [any Command.Type]) -> [Route] {
    var order: [String] = []
    var actions: [String: [Action]] = [:]
    for command in commands {
      guard let route = command.declaration.route else { continue }
      if actions[route.path] == nil { order.append(route.path) }
      actions[route.path, default: []].append(Action(method: route.method, work: .command(command)))
    }
    return order.map { Route($0, actions[$0] ?? []) }
  }

  /// The methods for the header `Allow`. HEAD does the same as GET, without the body.
  var methods: [String] {
    var methods = actions.map(\.method)
    if methods.contains("GET") { methods.append("HEAD") }
    return methods + ["OPTIONS"]
  }

  package func action(for method: String) -> Action? {
    let wanted = method == "HEAD" ? "GET" : method
    return actions.first { $0.method == wanted }
  }
}

extension Route.Action {
  /// The errors that a request can receive.
  var errors: Set<RequestError.Kind> {
    switch work {
    case .command(let command): Self.hubErrors.union(Self.callerErrors).union(command.declaration.errors)
    case .resource(_, let errors): Self.hubErrors.union(errors)
    }
  }

  /// The errors that the hub itself can send for any path, before it delivers the request. A WebSocket handshake at a
  /// path other than `/v1/connect` gets 404.
  private static let hubErrors: Set<RequestError.Kind> = [
    .malformed, .forbidden, .requestTimeout, .tooLarge, .pathTooLong, .rateLimited, .headTooLarge, .notImplemented,
    .unavailable,
  ]

  /// The errors that ``HTTPService/admit(_:_:on:)`` throws.
  static let callerErrors: Set<RequestError.Kind> = [
    .unauthorized, .forbidden, .badRequest, .unsupportedMediaType, .rateLimited, .unavailable, .internal,
  ]
}

/// A path with named parts: `/v1/rooms/{room}/messages`.
struct PathTemplate: Sendable, CustomStringConvertible {
  private enum Part: Sendable {
    case text(String)
    case name(String)
  }

  private let parts: [Part]
  package let description: String

  init(_ text: String) {
    description = text
    parts = Self.split(text).map { $0.hasPrefix("{") ? .name(String($0.dropFirst().dropLast())) : .text($0) }
  }

  /// Returns the values of the named parts in a path. Returns `nil` if the path does not match.
  package func match(_ path: [String]) -> [String: String]? {
    guard path.count == parts.count else { return nil }
    for case (.text(let part), let text) in zip(parts, path) where part != text { return nil }
    var found: [String: String] = [:]
    for case (.name(let name), let value) in zip(parts, path) { found[name] = value }
    return found
  }

  package static func split(_ path: String) -> [String] {
    path.split(separator: "/", omittingEmptySubsequences: false).map(String.init)
  }
}

/// The error for a method that a path does not support.
struct MethodRefusal: Error {
  package let allowed: [String]
}
