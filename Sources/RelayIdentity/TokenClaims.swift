// SPDX-License-Identifier: Apache-2.0
package import RelayJSON
package import RelayProtocol

/// The reason why the relay rejects a token.
package enum TokenFailure: Error, Equatable {
  case invalid(String)
  case expired
  /// `nbf` is ahead of the relay's clock.
  case early

  package var requestError: RequestError {
    switch self {
    case .expired: RequestError(.unauthorized, "the token has expired")
    case .early: RequestError(.unauthorized, "the token is not valid yet")
    case .invalid(let why): RequestError(.unauthorized, why)
    }
  }

  /// The code that closes a session whose `hello` had the token.
  package var close: CloseCode {
    switch self {
    case .expired: .tokenExpired
    case .early: .tokenNotYetValid
    case .invalid: .unauthorized
    }
  }
}

/// The rules for tokens, beside the signature and the user.
public struct TokenPolicy: Sendable, Equatable {
  /// The accepted value of `aud`. Is `nil` if every value is accepted.
  public var audience: String?
  /// The accepted value of `iss`. Is `nil` if every value is accepted.
  public var issuer: String?
  /// True if a token without `exp` is rejected.
  public var requiresExpiry = true
  /// The maximum time from now to `exp`.
  public var maxLifetime = Duration.seconds(366 * 24 * 3600)

  /// The accepted difference between the clocks of the issuer and of the relay.
  static let leeway = Duration.seconds(60)
}

/// The claims of a token (RFC 7519, section 4), parsed into an identity.
package struct TokenClaims {
  private let fields: Fields

  package init(_ fields: Fields) { self.fields = fields }

  /// The maximum number of entries of `rooms`, and of `watch`.
  static let maxEntries = 100

  func identity(_ policy: TokenPolicy, now: Timestamp) throws(TokenFailure) -> Identity {
    do {
      guard let user = UserID(rawValue: try fields.string("sub", maxLength: UserID.maxLength) ?? "") else {
        throw TokenFailure.invalid("sub of the token is no user name")
      }
      let expires = try times(policy, now: now)
      try check(policy)
      return Identity(
        user: try fields.profile(of: user, hasAddress: true),
        permissions: Permissions(
          grants: try grants(), watch: try globs("watch") ?? [], claimed: try account()), expires: expires,
        issued: try milliseconds("iat").map(Timestamp.init(rawValue:)))
    } catch let failure as TokenFailure {
      throw failure
    } catch let error as RequestError {
      throw .invalid("in the token, \(error.message)")
    } catch {
      throw .invalid("the token is not valid")
    }
  }

  /// Checks `nbf` and `exp`, which are seconds and may have a fraction. Returns `exp`.
  private func times(_ policy: TokenPolicy, now: Timestamp) throws -> Timestamp? {
    let leeway = TokenPolicy.leeway
    guard Timestamp(rawValue: try milliseconds("nbf") ?? 0) <= now + leeway else { throw TokenFailure.early }
    guard let expires = try milliseconds("exp") else {
      guard !policy.requiresExpiry else { throw TokenFailure.invalid("the token has no exp") }
      return nil
    }
    guard expires > now.rawValue else { throw TokenFailure.expired }
    guard Timestamp(rawValue: expires) <= now + policy.maxLifetime + leeway else {
      let seconds = policy.maxLifetime.components.seconds
      let text = seconds.isMultiple(of: 86_400) ? "\(seconds / 86_400) days" : "\(seconds) s"
      throw TokenFailure.invalid("exp of the token is more than \(text) ahead, the maximum lifetime of tokens here")
    }
    return Timestamp(rawValue: expires)
  }

  private func milliseconds(_ key: String) throws -> Int64? {
    guard let value = fields.members[key] else { return nil }
    guard case .number(let spelling) = value, let seconds = Double(spelling), seconds.isFinite else {
      throw TokenFailure.invalid("\(key) of the token is no time")
    }
    return Int64(min(max(seconds * 1000, 0), Double(maxInteger)))
  }

  private func check(_ policy: TokenPolicy) throws {
    if let issuer = policy.issuer, try fields.string("iss", maxLength: .max) != issuer {
      throw TokenFailure.invalid("the token is of another issuer")
    }
    guard let audience = policy.audience else { return }
    let isMeant =
      switch fields.members["aud"] {
      case .string(let text): text == audience
      case .array(let items): items.contains(.string(audience))
      default: false
      }
    guard isMeant else { throw TokenFailure.invalid("the token is for another audience") }
  }

  /// The claim `rooms`. Is `nil` if the token has none.
  package func grants() throws -> [Grant]? {
    guard let entries = try list("rooms") else { return nil }
    return try entries.enumerated().map { index, entry in
      let grant = try Fields(entry, at: "/rooms/\(index)")
      guard let match = Glob(try grant.required("match", grant.string("match", maxLength: .max))) else {
        throw grant.wrong("match", "of rooms is no pattern")
      }
      return Grant(match: match, can: try grant.rights("can"))
    }
  }

  private func account() throws -> AccountRights? {
    guard let entries = try list("account") else { return nil }
    return try entries.reduce(into: AccountRights()) { rights, entry in
      guard case .string(let name) = entry, let right = AccountRights(name: name) else {
        throw fields.wrong("account", "may have \(AccountRights.named.map(\.name).joined(separator: ", "))")
      }
      rights.formUnion(right)
    }
  }

  private func globs(_ key: String) throws -> [Glob]? {
    try list(key)?.map { item in
      guard case .string(let text) = item, let glob = Glob(text) else {
        throw fields.wrong(key, "has an entry that is no pattern")
      }
      return glob
    }
  }

  private func list(_ key: String) throws -> [JSON]? {
    guard let value = fields.members[key], value != .null else { return nil }
    guard case .array(let items) = value else { throw fields.wrong(key, "must be an array") }
    guard items.count <= Self.maxEntries else {
      throw fields.wrong(key, "must have at most \(Self.maxEntries) entries")
    }
    return items
  }
}

extension Fields {
  /// Parses a list of the names of rights.
  package func rights(_ key: String) throws(RequestError) -> Rights {
    guard case .array(let items) = members[key] else { throw wrong(key, "must be an array of rights") }
    var rights: Rights = []
    for item in items {
      guard case .string(let name) = item, let right = Rights(name: name) else {
        throw wrong(key, "may have \(Rights.named.map(\.name).joined(separator: ", "))")
      }
      rights.formUnion(right)
    }
    return rights
  }
}
