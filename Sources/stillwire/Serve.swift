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
      Every option can also be set in the environment, --limits-send-rate is STILLWIRE_LIMITS_SEND_RATE, and in a \
      configuration file: {"limits": {"sendRate": 50}}. The command line wins, then the environment. SIGHUP has \
      the file, limits, keys and room patterns read again.

      Without --secret-file everybody is who they say: fit for a look and for development, and refused on an address \
      that others reach.
      """
  )

  @Option(help: ArgumentHelp("What else is set, as JSON (default: nothing).", valueName: "file"))
  var config: String?

  @Flag(help: "Only say what is set and by whom, or what is wrong with it.")
  var check = false

  @Option(help: "Where to listen (default: 127.0.0.1).")
  var address: String?

  @Option(help: "Which port; 0 is any free one (default: 8080).")
  var port: String?

  @Option(help: ArgumentHelp("Where the database lives (default: data).", valueName: "folder"))
  var data: String?

  @Option(
    help: ArgumentHelp(
      "When a message counts as stored: full, or normal, which survives a crash but not a loss of power (default: full).",
      valueName: "mode"))
  var storeSynchronous: String?

  @Option(help: ArgumentHelp("Where the page lives (default: no page).", valueName: "folder"))
  var web: String?

  @Option(help: ArgumentHelp("A shared secret: clients then need tokens (HS256).", valueName: "file"))
  var secretFile: String?

  @OptionGroup(title: "Identity")
  var identity: IdentityOptions

  @Flag(help: "Allow open mode on an address that others reach.")
  var openToNetwork = false

  @Option(
    help: ArgumentHelp(
      "Names of the relay, with spaces between, that Host of a request may have. In open mode the relay answers no other "
        + "names but localhost; with tokens it answers any name (default: none).", valueName: "list"))
  var hosts: String?

  @Option(
    help: ArgumentHelp("Allowed values of Origin, with spaces between (default: the server's own).", valueName: "list"))
  var origins: String?

  @Option(
    help: ArgumentHelp(
      "Whether devices of the platform simulator may register: true or false (default: true in open mode alone).",
      valueName: "flag"))
  var simulatedPhones: String?

  @Flag(help: "Let everybody read /metrics, not only who has an API key.")
  var metricsOpen = false

  @Option(
    help: ArgumentHelp("trace, debug, info, notice, warning, error or critical (default: info).", valueName: "level"))
  var logLevel: String?

  @Option(help: ArgumentHelp("How long a lost connection still counts as there (default: 10).", valueName: "seconds"))
  var presenceGrace: String?

  @Option(
    help: ArgumentHelp(
      "How long /ready says no before sessions are closed at the end (default: 0 on loopback, else 5).",
      valueName: "seconds"))
  var drainDelay: String?

  @Option(
    help: ArgumentHelp(
      "Connections in all, one more gets 503 (default: what the limit of open files allows).", valueName: "n"))
  var connectionsMost: String?

  @Option(
    help: ArgumentHelp(
      "Connections from an IPv4 address or an IPv6 /64, one more gets 429; 0 lifts it (default: 0).", valueName: "n"))
  var connectionsPerAddress: String?

  @Option(
    help: ArgumentHelp(
      "Networks whose X-Forwarded-For says who is behind them, with spaces between (default: none).",
      valueName: "list"))
  var trustedProxies: String?

  @OptionGroup(title: "Limits")
  var limits: LimitOptions

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
      server = try await Server(configuration, log: Logger(label: "stillwire")) { server in
        // Unlike print(), this does not wait in a buffer when the output is a pipe.
        FileHandle.standardOutput.write(Data("Stillwire is at \(server.url)\n".utf8))
      }
    } catch {
      throw ExitCode.failure(error)
    }
    let group = ServiceGroup(
      configuration: ServiceGroupConfiguration(
        services: [.init(service: server, successTerminationBehavior: .gracefullyShutdownGroup)],
        gracefulShutdownSignals: [.sigterm, .sigint], logger: Logger(label: "stillwire.service")))
    let rereading = Task {
      for await _ in hangups { await reread(server) }
    }
    defer { rereading.cancel() }
    let impatience = Task { await endAtOnceWhenAskedAgain() }
    defer { impatience.cancel() }
    try await group.run()
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
    } catch {
      throw ExitCode.failure(error)
    }
  }

  /// The command line before the environment before the file.
  private func read(_ trace: ConfigurationTrace? = nil) throws -> ServerConfiguration {
    var providers: [any ConfigProvider] = [
      InMemoryProvider(name: "command line", values: told),
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

  private var told: [AbsoluteConfigKey: ConfigValue] {
    var told: [String: String?] = [
      "config": config, "address": address, "port": port, "data": data, "web": web, "secretFile": secretFile,
      "origins": origins, "hosts": hosts, "simulatedPhones": simulatedPhones,
      "logLevel": logLevel, "presence.grace": presenceGrace, "drain.delay": drainDelay,
      "store.synchronous": storeSynchronous,
      "connections.most": connectionsMost, "connections.perAddress": connectionsPerAddress,
      "trustedProxies": trustedProxies,
    ]
    told.merge(identity.told) { $1 }
    if openToNetwork { told["openToNetwork"] = "true" }
    if metricsOpen { told["metrics.open"] = "true" }
    for (name, value) in limits.told { told["limits.\(name)"] = value }
    return Self.values(told.compactMapValues { $0 })
  }

  private static func values(_ texts: [String: String]) -> [AbsoluteConfigKey: ConfigValue] {
    Dictionary(
      uniqueKeysWithValues: texts.map { (AbsoluteConfigKey(ConfigKey($0.key)), ConfigValue(stringLiteral: $0.value)) })
  }
}
