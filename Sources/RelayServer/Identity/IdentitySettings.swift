// SPDX-License-Identifier: Apache-2.0
import Configuration
import RelayProtocol

/// How clients prove who they are: files and what tokens must say.
public struct IdentitySettings: Sendable, Equatable {
  /// A shared secret (HS256).
  public var secretFile: String?
  public var keys: [TokenKeySource] = []
  /// A JWK Set.
  public var keySetFile: String?
  /// The keys of backends.
  public var apiKeysFile: String?
  public var audience: String?
  public var issuer: String?
  public var requiresExpiry = true
  /// The longest time from now to `exp` of a token.
  public var maxLifetime = TokenPolicy.defaultMaxLifetime
  /// For how long a session outlives its token.
  public var grace = Duration.seconds(25)

  public init() {}

  /// Throws ``StartupError`` that names the key.
  init(_ config: ConfigReader, file: ConfigurationFile?) throws(StartupError) {
    secretFile = config.string(forKey: "secretFile") ?? config.string(forKey: "tokens.secretFile")
    if let told = config.string(forKey: "tokens.keys") {
      for text in told.split(separator: " ") { keys.append(try TokenKeySource(String(text))) }
    } else {
      for fields in file?.lists["tokens.keys"] ?? [] { keys.append(try TokenKeySource(fields)) }
    }
    keySetFile = config.string(forKey: "tokens.jwksFile")
    audience = config.string(forKey: "tokens.audience")
    issuer = config.string(forKey: "tokens.issuer")
    if let value = try config.flag("tokens.requireExpiry") { requiresExpiry = value }
    if let value = try config.number("tokens.grace", 0...86_400, isWhole: false) {
      grace = .milliseconds(Int64(value * 1000))
    }
    if let value = try config.number("tokens.maxLifetime", 60...3_153_600_000, isWhole: true) {
      maxLifetime = .seconds(Int64(value))
    }
    apiKeysFile = config.string(forKey: "apiKeysFile")
  }

  /// Everybody is who they say.
  public var isOpen: Bool { secretFile == nil && keys.isEmpty && keySetFile == nil && apiKeysFile == nil }

  var policy: TokenPolicy {
    TokenPolicy(audience: audience, issuer: issuer, requiresExpiry: requiresExpiry, maxLifetime: maxLifetime)
  }

  /// Reads the files of the keys. Throws ``StartupError``.
  func readKeys() async throws(StartupError) -> [VerificationKey] {
    var found: [VerificationKey] = []
    if let secretFile { found.append(await VerificationKey(secret: try SecretFile(forTokensAt: secretFile).secret)) }
    for key in keys { found.append(try await key.read()) }
    return found
  }

  func readKeySet() async throws(StartupError) -> KeySetFile? {
    guard let keySetFile else { return nil }
    return try await KeySetFile(path: keySetFile)
  }

  func readAPIKeys() throws(StartupError) -> APIKeys {
    guard let apiKeysFile else { return APIKeys() }
    return try APIKeys(path: apiKeysFile)
  }
}
