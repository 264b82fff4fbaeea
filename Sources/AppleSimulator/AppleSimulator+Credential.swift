// SPDX-License-Identifier: Apache-2.0
import RelayProtocol

extension AppleSimulator {
  /// The authentication of one connection. A token is verified once. After that, only its age is checked.
  struct Credential {
    private struct Accepted {
      var authorization: String
      var token: ProviderToken
      var topics: Set<String>?
    }

    /// The maximum number of accepted tokens: those of a key and a related key, before and after a renewal.
    static let maxAccepted = 4

    private var accepted: [Accepted] = []
    private var updates = TokenUpdates()
    private var firstKeyID: String?
    /// The number of verified signatures.
    private(set) var verifications = 0

    /// Forgets the verified tokens, because a change of the settings may have removed keys.
    mutating func forgetVerified() { accepted.removeAll() }

    /// Checks the header `authorization` of a request.
    /// - Parameter isWelcome: Returns false if the whole service received too many tokens of the key.
    /// - Returns: The key's id, and the topics that the key permits.
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
      if accepted.count == Self.maxAccepted { accepted.removeFirst() }
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
