// SPDX-License-Identifier: Apache-2.0
import AppleSimulator
import ArgumentParser
import Crypto
import Foundation
import UnixSignals

@main
struct Simulator: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "stillwire-simulator",
    abstract: "Play Apple's push service, for tests and development.",
    discussion: """
      It checks tokens, headers and payloads as Apple's service does, and shows nothing to anybody. Gateways that trust \
      its certificate talk to it as to api.sandbox.push.apple.com. Over the control port it goes wrong on command, and \
      tells what arrived: see AppleSimulator.md of the documentation.
      """
  )

  @Option(help: "Where to listen.")
  var host = "127.0.0.1"

  @Option(help: "Which port; 0 is any free one.")
  var port = 2197

  @Option(help: ArgumentHelp("The port of the control API, on 127.0.0.1 (default: none).", valueName: "port"))
  var controlPort: Int?

  @Option(help: ArgumentHelp("A certificate and those above it as PEM (default: one is made).", valueName: "file"))
  var certificate: String?

  @Option(help: ArgumentHelp("The certificate's key as PEM.", valueName: "file"))
  var key: String?

  @Option(help: ArgumentHelp("Where the certificate that was made is written, as PEM.", valueName: "file"))
  var saveCertificate: String?

  @Option(help: ArgumentHelp("A key that tokens may be signed with, public or private, as PEM.", valueName: "file"))
  var keyFile: String?

  @Option(help: ArgumentHelp("Its name, 10 characters.", valueName: "id"))
  var keyID: String?

  @Option(help: ArgumentHelp("Whose it is, 10 characters.", valueName: "id"))
  var team: String?

  @Flag(help: "Accept tokens of unknown keys, whatever their signature.")
  var acceptAnyKey = false

  @Option(
    name: .customLong("topic"),
    help: ArgumentHelp("A bundle id that may be pushed to; repeat it for more (default: any).", valueName: "id"))
  var topics: [String] = []

  @Option(help: ArgumentHelp("How long an answer takes, as SECONDS or LEAST-MOST.", valueName: "seconds"))
  var latency: Latency = .none

  @Flag(help: "Play the production environment, not the sandbox.")
  var production = false

  @Option(help: ArgumentHelp("Threads that serve.", valueName: "n"))
  var threads = 1

  @Option(help: ArgumentHelp("Connections at once, one more is closed.", valueName: "n"))
  var connectionsMost = 1000

  @Option(help: ArgumentHelp("After how long without a request a connection is closed.", valueName: "seconds"))
  var idleTime = 3600

  func validate() throws {
    guard (0...65_535).contains(port), (0...65_535).contains(controlPort ?? 0) else {
      throw ValidationError("a port is from 0 to 65535")
    }
    guard (certificate == nil) == (key == nil) else {
      throw ValidationError("--certificate and --key belong together")
    }
    guard saveCertificate == nil || certificate == nil else {
      throw ValidationError("--save-certificate is for a certificate that is made")
    }
    guard [keyFile == nil, keyID == nil, team == nil].allSatisfy({ $0 == (keyFile == nil) }) else {
      throw ValidationError("--key-file, --key-id and --team belong together")
    }
    guard (keyFile == nil) == acceptAnyKey else {
      throw ValidationError("give --key-file with --key-id and --team, or --accept-any-key")
    }
    guard keyID?.utf8.count ?? 10 == 10, team?.utf8.count ?? 10 == 10 else {
      throw ValidationError("--key-id and --team have 10 characters")
    }
    guard (1...64).contains(threads) else { throw ValidationError("--threads must be from 1 to 64") }
    guard connectionsMost > 0, (1...86_400).contains(idleTime) else {
      throw ValidationError("--connections-most must be 1 or more, --idle-time from a second to a day")
    }
  }

  func run() async throws {
    let signals = await UnixSignalsSequence(trapping: .sigterm, .sigint)
    let simulator: AppleSimulator
    do {
      simulator = try await start()
    } catch let error as SimulatorError {
      throw error
    } catch {
      throw SimulatorError("the simulator cannot start: \(error)")
    }
    for await _ in signals { break }
    try await simulator.stop()
  }

  private func start() async throws -> AppleSimulator {
    var configuration = AppleSimulator.Configuration()
    configuration.host = host
    configuration.port = port
    configuration.threads = threads
    configuration.maxConnections = connectionsMost
    configuration.idleTime = .seconds(idleTime)
    configuration.settings.environment = production ? .production : .sandbox
    configuration.settings.topics = Set(topics)
    configuration.settings.latency = latency.range
    configuration.settings.acceptsAnyKey = acceptAnyKey
    if let keyFile, let keyID, let team {
      configuration.settings.add(.init(id: keyID, team: team, publicKey: try publicKey(keyFile)))
    }
    if let certificate, let key { configuration.identity = (try text(certificate), try text(key)) }
    let simulator = try await AppleSimulator.start(configuration)
    if let saveCertificate {
      try simulator.certificates.write(toFile: saveCertificate, atomically: true, encoding: .utf8)
    }
    say("Apple's push service is played at https://\(host):\(simulator.port)")
    if let controlPort {
      say("It is controlled at http://127.0.0.1:\(try await simulator.startControl(port: controlPort))")
    }
    return simulator
  }

  private func publicKey(_ path: String) throws -> P256.Signing.PublicKey {
    let pem = try text(path)
    if let key = try? P256.Signing.PublicKey(pemRepresentation: pem) { return key }
    guard let key = try? P256.Signing.PrivateKey(pemRepresentation: pem) else {
      throw SimulatorError("\(path) is not a key of P-256 as PEM")
    }
    return key.publicKey
  }

  private func text(_ path: String) throws -> String {
    guard let data = FileManager.default.contents(atPath: path) else { throw SimulatorError("\(path) cannot be read") }
    return String(decoding: data, as: UTF8.self)
  }

  /// Unlike print(), this does not wait in a buffer when the output is a pipe.
  private func say(_ line: String) { FileHandle.standardOutput.write(Data("\(line)\n".utf8)) }
}

/// The reason why the simulator cannot start, in one line.
struct SimulatorError: Error, CustomStringConvertible {
  let description: String
  init(_ description: String) { self.description = description }
}

/// A time, or the shortest and the longest.
struct Latency: ExpressibleByArgument, CustomStringConvertible {
  var range: ClosedRange<Duration>

  static let none = Latency(range: .zero ... .zero)

  init(range: ClosedRange<Duration>) { self.range = range }

  init?(argument: String) {
    let bounds = argument.split(separator: "-", omittingEmptySubsequences: false).map { Double($0) }
    guard (1...2).contains(bounds.count), let first = bounds[0], let last = bounds[bounds.count - 1],
      0 <= first, first <= last, last <= 3600
    else { return nil }
    range = .seconds(first) ... .seconds(last)
  }

  var description: String { "0" }
}
