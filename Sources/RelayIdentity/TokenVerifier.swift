// SPDX-License-Identifier: Apache-2.0
import Logging
import RelayProtocol

/// Verifies tokens, outside the hub's thread.
///
/// JWTKit verifies the signatures. The checks around them are hand-written: they bound a token's size and the number of
/// keys that are tried for it before any cryptography runs, and they reject algorithms that do not fit the key.
package actor TokenVerifier {
  private let keys: [VerificationKey]
  private var file: KeySetFile?
  private let policy: TokenPolicy
  private let now: @Sendable () -> Timestamp
  private let log: Logger
  private var looked: Timestamp

  /// The maximum number of keys that are tried for one token. A stranger may send any token.
  static let mostTried = 16
  /// The shortest time between two readings of the file: for a token that no key verifies, and in all other cases.
  static let retryPause = Duration.seconds(1)
  static let pause = Duration.seconds(30)

  init(
    keys: [VerificationKey], file: KeySetFile? = nil, policy: TokenPolicy = TokenPolicy(),
    now: @escaping @Sendable () -> Timestamp, log: Logger
  ) {
    self.keys = keys
    self.file = file
    self.policy = policy
    self.now = now
    self.log = log
    looked = now()
  }

  package func verify(_ text: String) async throws(TokenFailure) -> Identity {
    do {
      return try await check(text)
    } catch {
      log.debug("a token was refused", metadata: ["reason": "\(error.requestError.message)"])
      throw error
    }
  }

  private func check(_ text: String) async throws(TokenFailure) -> Identity {
    let token = try CompactToken(text)
    await lookAtFile(ifPassed: Self.pause)
    if !isSigned(token) {
      // A key may have been replaced under its own name, or have none.
      guard await lookAtFile(ifPassed: Self.retryPause), isSigned(token) else {
        throw .invalid("the token is not valid")
      }
    }
    return try TokenClaims(token.claims).identity(policy, now: now())
  }

  private func isSigned(_ token: CompactToken) -> Bool {
    candidates(for: token).prefix(Self.mostTried).contains { $0.verifies(token) }
  }

  /// The key that the token names. All keys of its algorithm if it names none, or if no key has the name.
  private func candidates(for token: CompactToken) -> [VerificationKey] {
    let all = (keys + (file?.keys ?? [])).filter { $0.algorithm.rawValue == token.algorithm }
    guard let id = token.keyID else { return all }
    let named = all.filter { $0.id == id }
    return named.isEmpty ? all.filter { $0.id == nil } : named
  }

  /// Reads the file again if it has changed. Returns true if there are other keys now.
  @discardableResult
  private func lookAtFile(ifPassed pause: Duration) async -> Bool {
    let now = now()
    guard var file, now >= looked + pause || now < looked else { return false }
    looked = now
    var hasChanged = false
    do {
      hasChanged = try await file.refresh()
      guard hasChanged else { return false }
      log.notice("the key set was read again", metadata: ["keys": "\(file.keys.count)"])
    } catch {
      log.error("\(error); the keys that were read before stay")
    }
    // Another look may have begun meanwhile; either has read what is there now.
    if self.file?.path == file.path { self.file = file }
    return hasChanged
  }
}
