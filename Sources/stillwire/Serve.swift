// SPDX-License-Identifier: Apache-2.0
import ArgumentParser
import Configuration
import Foundation
import Logging
import RelayProtocol
import RelayServer
import ServiceLifecycle
import UnixSignals

struct Serve: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    abstract: "Start the relay.",
    discussion: """
      Every option can also be set in the environment: --limits-send-rate is STILLWIRE_LIMITS_SEND_RATE. The command \
      line wins.

      Without --secret-file everybody is who they say: fit for a look and for development, and refused on an address \
      that others reach.
      """
  )

  @Option(help: "Where to listen (default: 127.0.0.1).")
  var address: String?

  @Option(help: "Which port; 0 is any free one (default: 8080).")
  var port: String?

  @Option(help: ArgumentHelp("Where the database lives (default: data).", valueName: "folder"))
  var data: String?

  @Option(help: ArgumentHelp("Where the page lives (default: no page).", valueName: "folder"))
  var web: String?

  @Option(help: ArgumentHelp("A shared secret: clients then need tokens (HS256).", valueName: "file"))
  var secretFile: String?

  @Flag(help: "Allow open mode on an address that others reach.")
  var openToNetwork = false

  @Option(
    help: ArgumentHelp("Allowed values of Origin, with spaces between (default: the server's own).", valueName: "list"))
  var origins: String?

  @Option(
    help: ArgumentHelp("trace, debug, info, notice, warning, error or critical (default: info).", valueName: "level"))
  var logLevel: String?

  @Option(help: ArgumentHelp("How long a lost connection still counts as there (default: 10).", valueName: "seconds"))
  var presenceGrace: String?

  @OptionGroup(title: "Limits")
  var limits: LimitOptions

  func run() async throws {
    let server: Server
    do {
      let configuration = try ServerConfiguration(reader())
      LoggingSystem.bootstrap { label in
        var handler = StreamLogHandler.standardError(label: label)
        handler.logLevel = configuration.logLevel
        return handler
      }
      server = try await Server(configuration, log: Logger(label: "stillwire")) { server in
        // Unlike print(), this does not wait in a buffer when the output is a pipe.
        FileHandle.standardOutput.write(Data("Stillwire is at \(server.url)\n".utf8))
      }
    } catch {
      try? FileHandle.standardError.write(contentsOf: Data("stillwire: \(error)\n".utf8))
      throw ExitCode.failure
    }
    let group = ServiceGroup(
      configuration: ServiceGroupConfiguration(
        services: [.init(service: server, successTerminationBehavior: .gracefullyShutdownGroup)],
        gracefulShutdownSignals: [.sigterm, .sigint], logger: Logger(label: "stillwire.service")))
    try await group.run()
  }

  /// The command line before the environment.
  private func reader() -> ConfigReader {
    var told: [String: String?] = [
      "address": address, "port": port, "data": data, "web": web, "secretFile": secretFile, "origins": origins,
      "logLevel": logLevel, "presence.grace": presenceGrace,
    ]
    if openToNetwork { told["openToNetwork"] = "true" }
    for (name, value) in limits.told { told["limits.\(name)"] = value }
    let values = told.compactMapValues { $0 }.map {
      (AbsoluteConfigKey(ConfigKey($0.key)), ConfigValue(stringLiteral: $0.value))
    }
    return ConfigReader(providers: [
      InMemoryProvider(name: "command line", values: Dictionary(uniqueKeysWithValues: values)),
      KeyMappingProvider(upstream: EnvironmentVariablesProvider()) { $0.prepending(["stillwire"]) },
    ])
  }
}
