// SPDX-License-Identifier: Apache-2.0
import Configuration
import RelayIdentity
import RelayServer

/// The sources of the configuration. The command line has precedence over the environment, and the environment over the
/// file.
enum ConfigurationSources {
  /// - Parameter given: The values of all options on the command line, by the names of their settings.
  static func read(_ given: [String: String], _ trace: ConfigurationTrace? = nil) throws -> ServerConfiguration {
    let (config, file) = try sources(given, trace)
    return try ServerConfiguration(config, file: file)
  }

  /// Reads only the settings of this group. The other keys of a configuration file may be wrong for the caller, such as
  /// a limit that the service raises.
  static func read(_ given: [String: String], only group: SettingGroup) throws -> ServerConfiguration {
    let (config, file) = try sources(given, nil)
    return try ServerConfiguration(config, file: file, settings: group.settings)
  }

  private static func sources(
    _ given: [String: String], _ trace: ConfigurationTrace?
  ) throws -> (ConfigReader, ConfigurationFile?) {
    var providers: [any ConfigProvider] = [
      InMemoryProvider(name: "command line", values: values(given)),
      KeyMappingProvider(upstream: EnvironmentVariablesProvider()) { $0.prepending(["stillwire"]) },
    ]
    let path = ConfigReader(providers: providers).string(forKey: "config")
    let file = try path.map { path throws(StartupError) in try ConfigurationFile(path: path) }
    if let file {
      trace?.note(file)
      providers.append(InMemoryProvider(name: file.path, values: values(file.values)))
    }
    return (ConfigReader(providers: providers, accessReporter: trace), file)
  }

  private static func values(_ texts: [String: String]) -> [AbsoluteConfigKey: ConfigValue] {
    Dictionary(
      uniqueKeysWithValues: texts.map { (AbsoluteConfigKey(ConfigKey($0.key)), ConfigValue(stringLiteral: $0.value)) })
  }
}
