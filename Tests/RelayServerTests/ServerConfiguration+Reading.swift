// SPDX-License-Identifier: Apache-2.0
import Configuration
import RelayIdentity

@testable import RelayServer

// Helpers of the tests of settings.

extension ServerConfiguration {
  /// Parses settings as if all of them came from the command line.
  static func read(_ values: [String: String], file: ConfigurationFile? = nil) throws(StartupError) -> Self {
    let values = values.map { (AbsoluteConfigKey(ConfigKey($0)), ConfigValue(stringLiteral: $1)) }
    return try Self(
      ConfigReader(provider: InMemoryProvider(values: Dictionary(uniqueKeysWithValues: values))), file: file)
  }
}

/// The text of the error that a call throws.
func startupError(_ body: () throws(StartupError) -> Void) -> String? {
  do {
    try body()
    return nil
  } catch {
    return error.description
  }
}
