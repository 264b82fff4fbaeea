// SPDX-License-Identifier: Apache-2.0
package import RelayHub
package import RelayJSON
package import RelayProtocol

/// A request to a command, from either transport.
package struct Request: Sendable {
  /// The members of the frame or of the body, and the parameters of the path and of the query.
  package let fields: Fields
  package let caller: Caller
  package let settings: RelaySettings
  /// False for a frame without `id`.
  package var expectsReply = true
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

  package init(_ fields: Fields, by caller: Caller, _ settings: RelaySettings) {
    self.fields = fields
    self.caller = caller
    self.settings = settings
  }

  package var limits: Limits { settings.limits }

  package var room: RoomID { get throws(RequestError) { try SharedFields.room.value(in: fields) } }

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
  package var anyUser: UserID {
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
