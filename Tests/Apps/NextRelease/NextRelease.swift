// SPDX-License-Identifier: Apache-2.0
import Configuration
import Foundation
import Logging
import RelayServer
import RelayStore
import UnixSignals

/// The node of a release that changes the tables, for tests of upgrades. It takes the options of `stillwire serve`, each
/// with a value.
@main
enum NextRelease {
  /// A column, and a table that a trigger fills. Without the migration, a node cannot apply the rows.
  private static let migration = """
    ALTER TABLE rooms ADD COLUMN topic TEXT NOT NULL DEFAULT 'none';
    CREATE TABLE next_release (room INTEGER PRIMARY KEY, messages INTEGER NOT NULL) STRICT;
    INSERT INTO next_release SELECT room, count(*) FROM messages GROUP BY room;
    CREATE TRIGGER next_release AFTER INSERT ON messages BEGIN
      INSERT INTO next_release VALUES (new.room, 1) ON CONFLICT (room) DO UPDATE SET messages = messages + 1;
    END;
    """

  static func main() async throws {
    signal(SIGXFSZ, SIG_IGN)
    LaterMigrations.add("next", migration)
    // Each option has an environment variable.
    let options = CommandLine.arguments.dropFirst(2)
    for (name, value) in zip(options, options.dropFirst()) where name.hasPrefix("--") {
      let variable = name.dropFirst(2).replacing("-", with: "_").uppercased()
      setenv("STILLWIRE_\(variable)", value, 1)
    }
    LoggingSystem.bootstrap { StreamLogHandler(label: $0, stream: LogOutput.standardError) }
    let end = EndRequest()
    let signals = await UnixSignalsSequence(trapping: .sigterm, .sigint)
    let listening = Task { await end.make(at: signals) }
    defer { listening.cancel() }
    try await ClusterServer(configuration(), end: end, log: Logger(label: "next")).run()
  }

  private static func configuration() throws -> ServerConfiguration {
    var providers: [any ConfigProvider] = [
      KeyMappingProvider(upstream: EnvironmentVariablesProvider()) { $0.prepending(["stillwire"]) }
    ]
    let path = ConfigReader(providers: providers).string(forKey: "config")
    let file = try path.map { try ConfigurationFile(path: $0) }
    if let file {
      let values = file.values.map {
        (AbsoluteConfigKey(ConfigKey($0.key)), ConfigValue(stringLiteral: $0.value))
      }
      providers.append(InMemoryProvider(name: file.path, values: Dictionary(uniqueKeysWithValues: values)))
    }
    return try ServerConfiguration(ConfigReader(providers: providers), file: file)
  }
}
