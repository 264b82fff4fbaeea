// SPDX-License-Identifier: Apache-2.0
import RelayCore
import RelayHub
import RelayProtocol

/// One resource of the HTTP API: its path, and an action for each method.
///
/// Hand-written, because the hub serves HTTP itself and hands over whole requests. The routers of web frameworks need
/// the server of their framework. The table of routes is also the input of the tests that check `openapi.json`.
struct Route: Sendable {
  package let path: PathTemplate
  package let actions: [Action]

  package struct Action: Sendable {
    package let method: String
    package let work: Work
  }

  package enum Work: Sendable {
    case command(any Command.Type)
    /// A resource that authenticates its callers itself, or needs no caller. The errors are those of the resource alone.
    case resource(Resource, errors: Set<RequestError.Kind>)
  }

  /// Answers a request. The dictionary has the named parts of the path. Returns `nil` if a stream has begun.
  typealias Resource =
    @Sendable (HTTPService, isolated Relay, HTTPRequest, [String: String]) async throws -> HTTPResponse?

  init(_ path: String, _ actions: [Action]) {
    self.path = PathTemplate(path)
    self.actions = actions
  }

  static func resource(
    _ method: String, _ path: String, errors: Set<RequestError.Kind> = [], _ work: @escaping Resource
  ) -> Route {
    Route(path, [Action(method: method, work: .resource(work, errors: errors))])
  }

  /// The routes of all commands that have one, in their order. Commands with the same path share a route.
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

  /// The methods that `Allow` names. HEAD does the same as GET, without the body.
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

  /// The errors that the hub answers requests of any path with, before it hands them over. A handshake of a WebSocket
  /// at another path than its own is 404.
  private static let hubErrors: Set<RequestError.Kind> = [
    .malformed, .forbidden, .requestTimeout, .tooLarge, .pathTooLong, .rateLimited, .headTooLarge, .notImplemented,
    .unavailable,
  ]

  /// The errors of ``HTTPService/admit(_:_:on:)``.
  static let callerErrors: Set<RequestError.Kind> = [
    .unauthorized, .forbidden, .badRequest, .unsupportedMediaType, .rateLimited, .unavailable, .internal,
  ]
}

/// A path with names for some of its parts: `/v1/rooms/{room}/messages`.
struct PathTemplate: Sendable, CustomStringConvertible {
  private let parts: [String]
  package let description: String

  init(_ text: String) {
    description = text
    parts = Self.split(text)
  }

  /// Returns the named parts of a path. Returns `nil` if the path has another shape.
  package func match(_ path: [String]) -> [String: String]? {
    guard path.count == parts.count else { return nil }
    var found: [String: String] = [:]
    for (part, text) in zip(parts, path) {
      if part.first == "{" {
        found[String(part.dropFirst().dropLast())] = text
      } else if part != text {
        return nil
      }
    }
    return found
  }

  package static func split(_ path: String) -> [String] {
    path.split(separator: "/", omittingEmptySubsequences: false).map(String.init)
  }
}

/// A method that a path does not know.
struct MethodRefusal: Error {
  package let allowed: [String]
}
