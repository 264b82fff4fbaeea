// SPDX-License-Identifier: Apache-2.0
import ArgumentParser
import Foundation
import Logging
import RelayIdentity
import RelayProtocol
import RelayServer
import UnixSignals

/// `stillwire serve`: reads the configuration from all sources, runs a `Server`, and handles its signals.
struct Serve: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    abstract: "Start the relay.",
    discussion: """
      Each option also has an environment variable and a key in the configuration file. For example, \
      --limits-send-rate, STILLWIRE_LIMITS_SEND_RATE and {"limits": {"sendRate": 50}} set the same limit. The command \
      line has precedence over the environment, and the environment over the file. `stillwire reference` lists all \
      keys, including keys without an option, and shows which of them a reload (SIGHUP) applies.

      Without --secret-file the relay trusts the user name that a client sends (open mode). This mode is for \
      development. The relay does not start in it on an address that other machines reach, unless --open-to-network is \
      set.
      """
  )

  @OptionGroup(title: SettingGroup.common.title) var common: SettingOptions<CommonSettings>
  @OptionGroup(title: SettingGroup.identity.title) var identity: SettingOptions<TokenSettings>
  @OptionGroup(title: SettingGroup.network.title) var network: SettingOptions<NetworkSettings>
  @OptionGroup(title: SettingGroup.operation.title) var operation: SettingOptions<OperationSettings>
  @OptionGroup(title: SettingGroup.audit.title) var audit: SettingOptions<AuditOptions>
  @OptionGroup(title: SettingGroup.cluster.title) var cluster: SettingOptions<ClusterOptions>
  @OptionGroup(title: SettingGroup.limits.title) var limits: SettingOptions<LimitSettings>
  @OptionGroup(title: SettingGroup.pace.title) var pace: SettingOptions<PaceSettings>
  @OptionGroup(title: SettingGroup.rooms.title) var rooms: SettingOptions<RoomSettings>

  @Flag(help: "Print each setting with its source, or the error, and exit.")
  var check = false

  func run() async throws {
    // With SIGXFSZ ignored, a write above the limit of file sizes returns an error and does not end the process.
    signal(SIGXFSZ, SIG_IGN)
    guard !check else { return try await report() }
    // Traps the signals before anything else. An untrapped SIGHUP ends the process, and the first process of a container
    // ignores an untrapped SIGTERM. One sequence serves the whole run: a signal between two of them would be lost.
    let hangups = await UnixSignalsSequence(trapping: .sighup)
    let ends = await UnixSignalsSequence(trapping: .sigterm, .sigint)
    let end = EndRequest()
    let listening = Task { await Self.request(end, at: ends) }
    defer { listening.cancel() }
    let ending = Task { await Self.endDuringStart(at: end) }
    let server: any RunningServer
    do {
      let configuration = try read()
      LoggingSystem.bootstrap { label in
        var handler = StreamLogHandler(label: label, stream: LogOutput.standardError)
        handler.logLevel = configuration.logLevel
        return handler
      }
      let log = Logger(label: "stillwire")
      server =
        configuration.cluster.isOn
        ? try await ClusterServer(configuration, end: end, log: log, isReady: Self.printURL)
        : try await Server(configuration, end: end, log: log, isReady: Self.printURL)
    } catch {
      throw ExitCode.failure(error)
    }
    // The server ends itself from now on.
    ending.cancel()
    for line in EnvironmentNames.complaints(about: ProcessInfo.processInfo.environment.keys) {
      Logger(label: "stillwire").warning("\(line)")
    }
    let rereading = Task {
      for await _ in hangups { await reread(server) }
    }
    defer { rereading.cancel() }
    do {
      try await server.run()
    } catch let error as StartupError {
      // The relay reads the database, and a node of a cluster opens its files and its port, after this begin.
      throw ExitCode.failure(error)
    }
  }

  /// Unlike print(), this writes immediately, without a buffer, if the output is a pipe.
  @Sendable private static func printURL(_ url: String) {
    FileHandle.standardOutput.write(Data("Stillwire is at \(url)\n".utf8))
  }

  /// Makes the request at the first signal. Ends the process immediately at the second one. Acknowledged messages are
  /// already on disk.
  private static func request(_ end: EndRequest, at signals: UnixSignalsSequence) async {
    var count = 0
    for await signal in signals {
      count += 1
      guard count > 1 else {
        end.make()
        continue
      }
      endAtOnce("ended immediately after a second signal", 128 + (signal == .sigint ? SIGINT : SIGTERM))
    }
  }

  /// Ends the process at the request, unless this task is cancelled first. An interrupted migration is undone.
  private static func endDuringStart(at end: EndRequest) async {
    await end.wait()
    if !Task.isCancelled { endAtOnce("ended during the start", 0) }
  }

  private static func endAtOnce(_ reason: String, _ code: Int32) -> Never {
    LogOutput.standardError.write("stillwire: \(reason)\n")
    LogOutput.standardError.flush(within: .milliseconds(200))
    _exit(code)
  }

  /// Reloads the configuration. A wrong configuration is logged and changes nothing.
  private func reread(_ server: any RunningServer) async {
    do {
      try await server.reload(read())
    } catch {
      Logger(label: "stillwire").error("the configuration is not changed: \(error)")
    }
  }

  /// Checks the configuration as a start does. Prints the keys that are set, one in each line, or the error.
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

  private func read(_ trace: ConfigurationTrace? = nil) throws -> ServerConfiguration {
    try ConfigurationSources.read(given, trace)
  }

  /// The values of all options on the command line, by the names of their settings.
  var given: [String: String] {
    [
      common.given, identity.given, network.given, operation.given, audit.given, cluster.given, limits.given,
      pace.given, rooms.given,
    ]
    .reduce(into: [:]) { all, given in all.merge(given) { $1 } }
  }
}
