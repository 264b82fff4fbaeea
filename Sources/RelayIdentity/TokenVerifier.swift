// SPDX-License-Identifier: Apache-2.0
import Logging
import RelayProtocol

/// Verifies tokens, outside the hub's thread.
///
/// JWTKit verifies the signatures. This code does the other checks itself: before any cryptography runs, it limits the
/// size of a token and the number of keys to try, and it rejects an algorithm that does not fit the key.
package actor TokenVerifier {
  private let keys: [VerificationKey]
  private var file: KeySetFile?
  private let policy: TokenPolicy
  private let now: @Sendable () -> Timestamp
  /// The clock of the pauses, which nobody can set.
  private let instant: @Sendable () -> ContinuousClock.Instant
  private let log: Logger
  private var looked: ContinuousClock.Instant

  /// The maximum number of keys that are tried for one token. Anybody may send a token.
  static let maxTried = 16
  /// The minimum time between two reads of the file: after a token that no key verifies, and in all other cases.
  static let retryPause = Duration.seconds(1)
  static let pause = Duration.seconds(30)

  init(
    keys: [VerificationKey], file: KeySetFile? = nil, policy: TokenPolicy = TokenPolicy(),
    now: @escaping @Sendable () -> Timestamp, instant: @escaping @Sendable () -> ContinuousClock.Instant = { .now },
    log: Logger
  ) {
    self.keys = keys
    self.file = file
    self.policy = policy
    self.now = now
    self.instant = instant
    self.log = log
    looked = instant()
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
      // The issuer may have replaced a key under the same name, or a key without a name.
      guard await lookAtFile(ifPassed: Self.retryPause), isSigned(token) else {
        throw .invalid("the token is not valid")
      }
    }
    return try TokenClaims(token.claims).identity(policy, now: now())
  }

  private func isSigned(_ token: CompactToken) -> Bool {
    candidates(for: token).prefix(Self.maxTried).contains { $0.verifies(token) }
  }

  /// The keys to try: those with the id that the token names. If no key has this id, the keys without an id. If the
  /// token names no id, all keys. All of them are for the algorithm of the token.
  private func candidates(for token: CompactToken) -> [VerificationKey] {
    let all = (keys + (file?.keys ?? [])).filter { $0.algorithm.verifies(token.algorithm) }
    guard let id = token.keyID else { return all }
    let named = all.filter { $0.id == id }
    return named.isEmpty ? all.filter { $0.id == nil } : named
  }

  /// Reads the file again if it has changed and if `pause` has passed since the last look. Returns true if it was read.
  @discardableResult
  private func lookAtFile(ifPassed pause: Duration) async -> Bool {
    let present = instant()
    guard var file, present - looked >= pause else { return false }
    looked = present
    var hasChanged = false
    do {
      hasChanged = try await file.refresh()
      guard hasChanged else { return false }
      log.notice("the key set was read again", metadata: ["keys": "\(file.keys.count)"])
      file.noteSkipped(log)
    } catch {
      log.error("\(error); the relay continues with the earlier keys")
    }
    // Another call may have read the file during the `await`. Both have read the newest contents.
    if self.file?.path == file.path { self.file = file }
    return hasChanged
  }
}
