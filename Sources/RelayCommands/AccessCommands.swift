// SPDX-License-Identifier: Apache-2.0

// Commands of backends about the access of a user: a suspension, and the revocation of tokens. `Restrictions` applies
// the changes.

import RelayHub
import RelayJSON
import RelayProtocol
import RelayRequests
import RelayState

/// Reads the restrictions of a user.
struct GetAccess: Command {
  package static let declaration = Declaration("GET", "/v1/users/{user}/access", by: .backend)

  private let user: UserID

  init(_ request: Request) throws(RequestError) { user = try request.user }

  package func run(_ relay: Relay, on core: isolated Core) async throws -> Reply {
    Reply(Replies.access(relay.restrictions.access(of: user), of: user, now: core.hub.now))
  }
}

/// Replaces the restrictions of a user. Sessions that they forbid end at once.
struct SetAccess: Command {
  package static let declaration = Declaration(
    "PUT", "/v1/users/{user}/access", by: .backend, fields: [isSuspended, end, explanation, notBefore],
    errors: [.unsupported])

  private static let isSuspended = Field<Bool?>.flag("suspended", "Without this field the user is not suspended.")
  private static let end = Field<Timestamp?>.time(
    "until", "The end of the suspension, in the future. Without it the suspension has no end.")
  private static let explanation = Field<String?>.text(
    "reason", maxLength: UserAccess.Suspension.maxReasonLength,
    "A text for the user, at most 112 bytes. The close frame and the errors contain it.")
  private static let notBefore = Field<Timestamp?>.time(
    "notBefore",
    """
    The relay refuses tokens whose `iat` is earlier, or that have none. It compares whole seconds, so a token of the \
    same second is accepted. `unsupported` in open mode.
    """)

  private let user: UserID
  private let access: UserAccess
  private let fields: Fields

  init(_ request: Request) throws(RequestError) {
    user = try request.user
    fields = request.fields
    try fields.checkNames(among: Self.declaration.fields.map(\.name))
    let until = try Self.end.value(in: request)
    let reason = try Self.explanation.value(in: request)
    let isSuspended = try Self.isSuspended.value(in: request) ?? false
    if !isSuspended {
      for name in ["until", "reason"] where fields.has(name) && !fields.isNull(name) {
        throw fields.wrong(name, "belongs to a suspension, and needs suspended: true")
      }
    }
    access = UserAccess(
      suspension: isSuspended
        ? UserAccess.Suspension(until: until, reason: reason?.isEmpty == true ? nil : reason) : nil,
      notBefore: try Self.notBefore.value(in: request))
  }

  package func run(_ relay: Relay, on core: isolated Core) async throws -> Reply {
    if let until = access.suspension?.until, until <= core.hub.now {
      throw fields.wrong("until", "is in the past")
    }
    if access.notBefore != nil, core.settings.isOpen {
      throw RequestError(
        .unsupported, "there are no tokens in open mode", at: fields.pointer(to: "notBefore"), status: 422)
    }
    let closed = try await relay.restrictions.set(access, of: user, on: core)
    let now = core.hub.now
    return Reply {
      Replies.access(access, of: user, now: now)(&$0)
      $0.integer("sessions", closed)
    }
  }
}

extension Replies {
  /// The restrictions of a user. A suspension that has ended is not among them.
  fileprivate static func access(_ access: UserAccess, of user: UserID, now: Timestamp) -> Reply.Members {
    {
      let suspension = access.suspension.flatMap { $0.isOn(at: now) ? $0 : nil }
      $0["user"] = user.rawValue
      $0.bool("suspended", suspension != nil)
      $0.integer("until", suspension?.until?.rawValue)
      $0["reason"] = suspension?.reason
      $0.integer("notBefore", access.notBefore?.rawValue)
    }
  }
}
