// SPDX-License-Identifier: Apache-2.0
import ArgumentParser

/// How clients prove who they are.
struct IdentityOptions: ParsableArguments {
  @Option(
    help: ArgumentHelp(
      "Keys for tokens, with spaces between, each ALGORITHM:KID:FILE: HS256 with a secret; ES256, RS256 or EdDSA with a "
        + "public key as PEM. The kid may be empty.", valueName: "list"))
  var tokensKeys: String?

  @Option(help: ArgumentHelp("A JWK Set, read again when it changes.", valueName: "file"))
  var tokensJwksFile: String?

  @Option(help: ArgumentHelp("What `aud` of a token must be or hold.", valueName: "text"))
  var tokensAudience: String?

  @Option(help: ArgumentHelp("What `iss` of a token must be.", valueName: "text"))
  var tokensIssuer: String?

  @Option(help: ArgumentHelp("Whether a token needs `exp` (default: true).", valueName: "flag"))
  var tokensRequireExpiry: String?

  @Option(
    help: ArgumentHelp(
      "Longest time from now to `exp` of a token; the relay refuses a longer one (default: 31622400, 366 days).",
      valueName: "seconds"))
  var tokensMaxLifetime: String?

  @Option(help: ArgumentHelp("How long a session outlives its token (default: 25).", valueName: "seconds"))
  var tokensGrace: String?

  @Option(help: ArgumentHelp("The keys of backends, see `stillwire api-key`.", valueName: "file"))
  var apiKeysFile: String?

  /// The options that were given, by the keys of the configuration.
  var given: [String: String?] {
    [
      "tokens.keys": tokensKeys, "tokens.jwksFile": tokensJwksFile, "tokens.audience": tokensAudience,
      "tokens.issuer": tokensIssuer, "tokens.requireExpiry": tokensRequireExpiry, "tokens.grace": tokensGrace,
      "tokens.maxLifetime": tokensMaxLifetime,
      "apiKeysFile": apiKeysFile,
    ]
  }
}
