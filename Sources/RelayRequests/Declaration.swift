// SPDX-License-Identifier: Apache-2.0
package import RelayHub
package import RelayProtocol

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
  let furtherUses: [RoomUse]
  /// The rights to the user's own account that the command needs.
  package let account: AccountRights
  /// The members of the request.
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
  package let arguments: Set<String>
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
    var includeReporters: Bool { self == .reporters || self == .ownDevice }
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
    let inHTTP = self.fields.filter { $0.isInHTTP && !variables.contains($0.name) }
    let own = method == "GET" || method == "DELETE" ? inHTTP : []
    query = Dictionary(uniqueKeysWithValues: own.map { ($0.name, $0.type.parameter) })
    self.body = body ?? (method == "PUT" || method == "POST" ? .required : .ignored)
    self.isRead = isRead ?? (method == "GET")
    self.reach = reach
    arguments = variables.union(query.keys)
    ownErrors = errors
  }

  /// The declared members of the body.
  package var bodyFields: [FieldDeclaration] {
    body == .ignored ? [] : fields.filter { $0.isInHTTP && !arguments.contains($0.name) }
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
  package func declares(_ error: any Error) -> Bool {
    // The caller has left, or the hub has unloaded an object of the request. A session then gets no answer.
    if case HubRefusal.gone = error { return true }
    return RequestError(known: error).map { errors.contains($0.kind) } ?? true
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
