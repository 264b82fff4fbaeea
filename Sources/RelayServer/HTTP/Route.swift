// SPDX-License-Identifier: Apache-2.0
import RelayHub
import RelayIdentity
import RelayJSON
import RelayProtocol
import RelayStore

/// One resource of the HTTP API: where it is, and what may be done there.
struct Route: Sendable {
  let path: PathTemplate
  let actions: [Action]

  init(_ path: String, _ actions: Action...) {
    self.path = PathTemplate(path)
    self.actions = actions
  }

  /// What is done with one method. nil from its work: a stream has begun.
  struct Action: Sendable {
    let method: String
    let work: Work

    enum Work: Sendable {
      /// For everybody; nobody is asked who they are. It is given the parts of the path that have names.
      case open(@Sendable (isolated Relay, HTTPRequest, [String: String]) async throws -> HTTPResponse)
      case called(Admission, @Sendable (isolated Relay, HTTPCall) async throws -> HTTPResponse?)
    }

    static func open(
      _ method: String, _ work: @escaping @Sendable (isolated Relay, HTTPRequest) async throws -> HTTPResponse
    ) -> Action {
      Action(method: method, work: .open { relay, request, _ in try await work(relay, request) })
    }

    /// - Parameter part: The part of the path that is asked about.
    static func openAt(
      _ method: String, _ part: String,
      _ work: @escaping @Sendable (isolated Relay, HTTPRequest, String) async throws -> HTTPResponse
    ) -> Action {
      Action(
        method: method,
        work: .open { relay, request, parts in
          guard let text = parts[part] else { preconditionFailure("the path has no part \(part)") }
          return try await work(relay, request, text)
        })
    }

    static func called(
      _ method: String, by admission: Admission = .anyone,
      _ work: @escaping @Sendable (isolated Relay, HTTPCall) async throws -> HTTPResponse?
    ) -> Action {
      Action(method: method, work: .called(admission, work))
    }
  }

  /// Who may call, and which of a user's rates it counts against; an API key has none.
  enum Admission: Sendable {
    case anyone(Rate)
    /// The same, and the extensions of an app with their report key.
    case reporters(Rate)
    case backend

    static let anyone = Admission.anyone(.request)
  }

  /// What `Allow` names; HEAD is what GET is, without the body.
  var methods: [String] {
    var methods = actions.map(\.method)
    if methods.contains("GET") { methods.append("HEAD") }
    return methods + ["OPTIONS"]
  }

  func action(for method: String) -> Action? {
    let wanted = method == "HEAD" ? "GET" : method
    return actions.first { $0.method == wanted }
  }
}

/// A path with names for some of its parts: `/v1/rooms/{room}/messages`.
struct PathTemplate: Sendable, CustomStringConvertible {
  private let parts: [Substring]
  let description: String

  init(_ text: String) {
    description = text
    parts = Self.split(text)
  }

  /// The parts that have names, when the path is one of this shape.
  func match(_ path: [Substring]) -> [String: String]? {
    guard path.count == parts.count else { return nil }
    var found: [String: String] = [:]
    for (part, text) in zip(parts, path) {
      if part.first == "{" {
        found[String(part.dropFirst().dropLast())] = String(text)
      } else if part != text {
        return nil
      }
    }
    return found
  }

  static func split(_ path: String) -> [Substring] { path.split(separator: "/", omittingEmptySubsequences: false) }
}

/// A request whose caller is known and may make it.
struct HTTPCall: Sendable {
  let request: HTTPRequest
  let caller: Caller
  /// The parts of the path that have names.
  let parts: [String: String]

  /// A part of the path. Throws where it is no such name.
  func name<N: Name>(_ part: String, _: N.Type = N.self) throws(RequestError) -> N {
    guard let text = parts[part] else { preconditionFailure("the path has no part \(part)") }
    guard let name = N(rawValue: text) else {
      throw RequestError(.badRequest, "the \(part) in the path \(Fields.badName(N.self))", at: "/path/\(part)")
    }
    return name
  }

  var room: RoomID { get throws(RequestError) { try name("room") } }

  /// The `{user}` of the path, whoever that is.
  var anyUser: UserID {
    get throws(RequestError) { parts["user"] == "me" ? try caller.me : try name("user") }
  }

  /// As whom the caller acts: the token's user, or whom the backend names in the field, else as itself.
  func actor(_ key: String, _ fields: Fields) throws(RequestError) -> UserID {
    switch caller {
    case .user(let user):
      guard !fields.has(key) else { throw RequestError(.forbidden, "\(key) comes from the token", at: "/\(key)") }
      return user.id
    case .reporter(let reporter):
      guard !fields.has(key) else { throw RequestError(.forbidden, "\(key) comes from the report key", at: "/\(key)") }
      return reporter.user
    case .backend(let acting): return try fields.required(key, fields.name(key) ?? acting)
    }
  }

  /// The `{user}` of the path, as whom the caller may act.
  var user: UserID {
    get throws(RequestError) {
      let user = try anyUser
      if let own = caller.owner, own != user {
        throw RequestError(.forbidden, "this is another user's", at: "/path/user")
      }
      return user
    }
  }
}
