// SPDX-License-Identifier: Apache-2.0
import RelayProtocol

extension AppleSimulator {
  /// Who a connection speaks for. A token is verified once; after that, only its age is looked at.
  struct Credential {
    private struct Accepted {
      var authorization: String
      var token: ProviderToken
      var topics: Set<String>?
    }

    /// Tokens that are in use beside each other at most: of a key and one it is related to, before and after a change.
    static let mostAccepted = 4

    private var accepted: [Accepted] = []
    private var updates = TokenUpdates()
    private var firstKeyID: String?
    /// Signatures that were looked at.
    private(set) var verifications = 0

    /// What is set has changed: keys may have gone.
    mutating func forgetVerified() { accepted.removeAll() }

    /// - Parameter isWelcome: false: the whole service got too many tokens of that key.
    /// - Returns: The key's id, and the topics that it is for.
    mutating func check(
      _ authorization: String?, settings: Settings, now: Timestamp, isWelcome: (String, ProviderToken) -> Bool
    ) throws(Reason) -> (keyID: String, topics: Set<String>?) {
      guard let authorization else { throw .missingProviderToken }
      if let known = accepted.first(where: { $0.authorization == authorization }) {
        try checkAge(of: known.token, settings: settings, now: now)
        return (known.token.keyID, known.topics)
      }
      let new = try verify(authorization, settings: settings, now: now)
      guard updates.note(authorization, keyID: new.token.keyID, issued: new.token.issued),
        isWelcome(authorization, new.token)
      else { throw .tooManyProviderTokenUpdates }
      firstKeyID = firstKeyID ?? new.token.keyID
      if accepted.count == Self.mostAccepted { accepted.removeFirst() }
      accepted.append(new)
      return (new.token.keyID, new.topics)
    }

    private mutating func verify(
      _ authorization: String, settings: Settings, now: Timestamp
    ) throws(Reason) -> Accepted {
      let scheme = "bearer "
      guard authorization.prefix(scheme.count).lowercased() == scheme, authorization.count > scheme.count else {
        throw .missingProviderToken
      }
      guard let token = ProviderToken(authorization.dropFirst(scheme.count)) else { throw .invalidProviderToken }
      let key = settings.key(token.keyID)
      if let key {
        verifications += 1
        guard key.team == token.team, token.isSigned(by: key.publicKey) else { throw .invalidProviderToken }
        guard key.environment ?? settings.environment == settings.environment else {
          throw .badEnvironmentKeyIDInToken
        }
      } else if !settings.acceptsAnyKey {
        throw .invalidProviderToken
      }
      try checkAge(of: token, settings: settings, now: now)
      if let firstKeyID, firstKeyID != token.keyID, key?.related != firstKeyID,
        settings.key(firstKeyID)?.related != token.keyID
      {
        throw .unrelatedKeyIDInToken
      }
      return Accepted(authorization: authorization, token: token, topics: key?.topics)
    }

    private func checkAge(of token: ProviderToken, settings: Settings, now: Timestamp) throws(Reason) {
      guard token.issued <= now + settings.clockSkew, now - token.issued <= ProviderToken.lifetime else {
        throw .expiredProviderToken
      }
    }
  }
}
