// SPDX-License-Identifier: Apache-2.0
package import Logging
package import RelayProtocol

/// The settings of authentication: the files with keys, and the rules for tokens.
public struct IdentitySettings: Sendable, Equatable {
  /// The file with the shared secret (HS256).
  public var secretFile: String?
  public var keys: [TokenKeySource] = []
  /// The file with a JWK Set.
  public var keySetFile: String?
  /// The file with the keys of backends.
  public var apiKeysFile: String?
  /// The scopes that the file of API keys names.
  package var scopes = KeyScopes()
  public var policy = TokenPolicy()
  /// The time that a session stays open after its token has expired.
  public var grace = Duration.seconds(25)

  public init() {}

  /// True if the relay trusts the user name that a client sends ("open mode").
  public var isOpen: Bool { secretFile == nil && keys.isEmpty && keySetFile == nil && apiKeysFile == nil }

  /// Reads the files with keys, and makes a verifier of tokens. Throws ``StartupError``.
  package func verifier(
    now: @escaping @Sendable () -> Timestamp, instant: @escaping @Sendable () -> ContinuousClock.Instant = { .now },
    log: Logger
  ) async throws(StartupError) -> TokenVerifier {
    var found: [VerificationKey] = []
    if let secretFile { found.append(await VerificationKey(secret: try SecretFile(forTokensAt: secretFile).secret)) }
    for key in keys { found.append(try await key.read()) }
    var file: KeySetFile?
    if let keySetFile { file = try await KeySetFile(path: keySetFile) }
    file?.noteSkipped(log)
    return TokenVerifier(keys: found, file: file, policy: policy, now: now, instant: instant, log: log)
  }

  /// Reads the keys of backends, with their scopes. Throws ``StartupError``.
  package func readAPIKeys() throws(StartupError) -> APIKeys {
    guard let apiKeysFile else {
      guard scopes.isEmpty else { throw StartupError("apiKeyScopes needs apiKeysFile: only API keys have scopes") }
      return APIKeys()
    }
    var keys = try APIKeys(path: apiKeysFile)
    try keys.limit(by: scopes, path: apiKeysFile)
    return keys
  }
}
