// SPDX-License-Identifier: Apache-2.0
import ArgumentParser
import Configuration
import Foundation
import Logging
import RelayIdentity
import RelayProtocol
import RelayServer
import UnixSignals

struct Serve: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    abstract: "Start the relay.",
    discussion: """
      Each option is also an environment variable, --limits-send-rate is STILLWIRE_LIMITS_SEND_RATE, and a key of the \
      configuration file: {"limits": {"sendRate": 50}}. The command line wins, then the environment. `stillwire \
      reference` lists all keys, also those without an option, with their ranges and with those that a reload (SIGHUP) \
      changes.

      Without --secret-file the relay trusts the user name that a client sends (open mode). This is for development: the \
      relay refuses to start so on an address that other machines reach.
      """
  )

  @OptionGroup(title: SettingGroup.common.title) var common: SettingOptions<CommonSettings>
  @OptionGroup(title: SettingGroup.identity.title) var identity: SettingOptions<TokenSettings>
  @OptionGroup(title: SettingGroup.network.title) var network: SettingOptions<NetworkSettings>
  @OptionGroup(title: SettingGroup.operation.title) var operation: SettingOptions<OperationSettings>
  @OptionGroup(title: SettingGroup.limits.title) var limits: SettingOptions<LimitSettings>

  @Flag(help: "Print each setting with its source, or the error, and exit.")
  var check = false

  func run() async throws {
    // A file that must not grow is an error of that write, not the end.
    signal(SIGXFSZ, SIG_IGN)
    guard !check else { return try await report() }
    // From the start: what is not trapped ends the process.
    let hangups = await UnixSignalsSequence(trapping: .sighup)
    let server: Server
    do {
      let configuration = try read()
      LoggingSystem.bootstrap { label in
        var handler = StreamLogHandler(label: label, stream: LogOutput.standardError)
        handler.logLevel = configuration.logLevel
        return handler
      }
      server = try await Server(configuration, log: Logger(label: "stillwire")) { url in
        // Unlike print(), this does not wait in a buffer when the output is a pipe.
        FileHandle.standardOutput.write(Data("Stillwire is at \(url)\n".utf8))
      }
    } catch {
      throw ExitCode.failure(error)
    }
    for line in EnvironmentNames.complaints(about: ProcessInfo.processInfo.environment.keys) {
      Logger(label: "stillwire").warning("\(line)")
    }
    let rereading = Task {
      for await _ in hangups { await reread(server) }
    }
    defer { rereading.cancel() }
    let impatience = Task { await endAtOnceWhenAskedAgain() }
    defer { impatience.cancel() }
    try await server.run(until: [.sigterm, .sigint])
  }

  /// A second signal does not wait for anybody: what was acknowledged is on disk anyway.
  private func endAtOnceWhenAskedAgain() async {
    var count = 0
    for await signal in await UnixSignalsSequence(trapping: .sigterm, .sigint) {
      count += 1
      guard count > 1 else { continue }
      LogOutput.standardError.write("stillwire: ended at once\n")
      LogOutput.standardError.flush(within: .milliseconds(200))
      _exit(128 + (signal == .sigint ? SIGINT : SIGTERM))
    }
  }

  /// A configuration that is wrong is logged and changes nothing.
  private func reread(_ server: Server) async {
    do {
      try await server.reload(read())
    } catch {
      Logger(label: "stillwire").error("the configuration is not changed: \(error)")
    }
  }

  /// Prints what is set, one key a line, if a start would accept it.
  private func report() async throws {
    let trace = ConfigurationTrace()
    do {
      let configuration = try read(trace)
      try await Server.check(configuration)
      for line in trace.lines { print(line) }
      for line in EnvironmentNames.complaints(about: ProcessInfo.processInfo.environment.keys) {
        try? FileHandle.standardError.write(contentsOf: Data("stillwire: \(line)\n".utf8))
      }
    } catch {
      throw ExitCode.failure(error)
    }
  }

  /// The command line before the environment before the file.
  private func read(_ trace: ConfigurationTrace? = nil) throws -> ServerConfiguration {
    var providers: [any ConfigProvider] = [
      InMemoryProvider(name: "command line", values: Self.values(given)),
      KeyMappingProvider(upstream: EnvironmentVariablesProvider()) { $0.prepending(["stillwire"]) },
    ]
    let path = ConfigReader(providers: providers).string(forKey: "config")
    let file = try path.map { path throws(StartupError) in try ConfigurationFile(path: path) }
    if let file {
      trace?.note(file)
      providers.append(InMemoryProvider(name: file.path, values: Self.values(file.values)))
    }
    return try ServerConfiguration(ConfigReader(providers: providers, accessReporter: trace), file: file)
  }

  /// The values of all options on the command line, by the names of their settings.
  var given: [String: String] {
    [common.given, identity.given, network.given, operation.given, limits.given]
      .reduce(into: [:]) { all, given in all.merge(given) { $1 } }
  }

  private static func values(_ texts: [String: String]) -> [AbsoluteConfigKey: ConfigValue] {
    Dictionary(
      uniqueKeysWithValues: texts.map { (AbsoluteConfigKey(ConfigKey($0.key)), ConfigValue(stringLiteral: $0.value)) })
  }
}
