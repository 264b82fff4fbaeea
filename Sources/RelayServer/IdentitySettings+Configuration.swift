// SPDX-License-Identifier: Apache-2.0
import Configuration
import RelayIdentity
import RelayJSON

extension IdentitySettings {
  /// Throws ``StartupError`` that names the key.
  init(_ config: ConfigReader, file: ConfigurationFile?) throws(StartupError) {
    self.init()
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
}
