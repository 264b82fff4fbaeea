// SPDX-License-Identifier: Apache-2.0
import ArgumentParser
import Crypto
import Foundation
import Logging
import RelayDelivery
import RelayGateways
import RelayJSON
import RelayProtocol

/// The load `pushes`: sends pushes with `AppleGateway` to a running `stillwire-simulator`, without a relay. With
/// `--through`, a relay sends them.
struct Pushes: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    abstract: "Send pushes through the gateway to a simulator of Apple's service.",
    discussion: """
      This needs no relay. The gateway runs in this process, so that the report has its processor time. Start \
      `stillwire-simulator --accept-any-key --save-certificate ca.pem` first. It is a closed loop: when a push ends, \
      the next one begins, to another device.

      With --through, messages to members who are away cause the pushes, and a relay sends them to the simulator. The \
      report has the relay's processor time for a push, including its share of the message. The relay needs an app whose \
      pushes go to the simulator, --limits-send-rate 0 and --pace-messages 10000. The page about benchmarks has the \
      commands. The rooms and users stay in the relay's database.
      """
  )

  @Option(help: "The host name or IP address of the simulator, or of the relay with --through.")
  var address = "127.0.0.1"
  @Option(help: "The port of the simulator (default: 2197), or of the relay with --through (default: 8080).")
  var port: UInt16?
  @Option(
    help: ArgumentHelp("The trusted certificates, in PEM format. Required without --through.", valueName: "file"))
  var caFile: String?
  @Option(
    help: ArgumentHelp(
      """
      Maximum number of connections (default: 1). Another one opens when all streams are in use. With --through, \
      connections to the relay, with one message in flight each (default: 8).
      """))
  var connections: Int?
  @Option(help: "Maximum number of streams on a connection (default: 500).") var streams: Int?
  @Option(help: "Pushes in flight (default: the number of streams, or 500 with --through).") var atOnce: Int?
  @Option(help: "Bytes of a payload (default: 1024).") var payload: Int?
  @Option(help: ArgumentHelp("The duration of the measurement.", valueName: "seconds")) var seconds = 5.0
  @Option(help: ArgumentHelp("The time of sending before the measurement.", valueName: "seconds")) var warmUp = 1.0
  @Flag(help: "Print JSON: times in seconds, sizes in bytes.") var json = false
  @OptionGroup(title: "Through a relay") var relay: ThroughOptions

  func validate() throws {
    guard port != 0 else { throw ValidationError("--port must be from 1 to 65535") }
    try BenchTarget.check("--connections", connections, 1...64)
    try BenchTarget.check("--streams", streams, 1...10_000)
    try BenchTarget.check("--at-once", atOnce, 1...100_000)
    try BenchTarget.check("--payload", payload, Self.smallestPayload...Push.maxPayload)
    try BenchTarget.check("--seconds", seconds, 0.1...86_400)
    try BenchTarget.check("--warm-up", warmUp, 0...3_600)
    let direct = ["--ca-file": caFile != nil, "--streams": streams != nil, "--payload": payload != nil]
    let foreign = (relay.through ? direct : relay.given).filter(\.value).keys.min()
    if let foreign { throw ValidationError("\(foreign) has no effect with\(relay.through ? "" : "out") --through") }
    guard relay.through || caFile != nil else { throw ValidationError("--ca-file is required without --through") }
  }

  private static let smallestPayload = 64
  /// The number of devices. It is large, so that no device receives too many pushes.
  private static let devices = 100_000

  func run() async throws {
    if relay.through { return try await runThrough() }
    let gateway = try gateway()
    defer { gateway.close() }
    let tally = try await load(on: gateway)
    let report = report(of: tally)
    print(json ? report.json : report.table)
    guard report.isClean else { throw ExitCode(1) }
  }

  private func runThrough() async throws {
    var target = BenchRelay()
    (target.address, target.port, target.pid, target.json) = (address, port ?? 8080, relay.pid, json)
    try target.validate()
    try await relay.run(
      on: target,
      .init(connections: connections ?? 8, atOnce: atOnce ?? 500, warmUp: warmUp, seconds: seconds))
  }

  private var simulatorPort: UInt16 { port ?? 2197 }
  private var maxConnections: Int { connections ?? 1 }
  private var maxStreams: Int { streams ?? 500 }
  private var payloadSize: Int { payload ?? 1024 }
  private var width: Int { atOnce ?? maxConnections * maxStreams }

  private func gateway() throws -> AppleGateway {
    let caFile = caFile ?? ""
    let service = AppleService(
      host: address, port: simulatorPort, caFile: caFile, connections: maxConnections, streams: maxStreams)
    var log = Logger(label: "bench")
    log.logLevel = .error
    do {
      let gateway = try AppleGateway(service, clock: .system, log: log)
      let key = try ProviderKey(pem: P256.Signing.PrivateKey().pemRepresentation, id: "BENCHKEY01", team: "BENCHTEAM1")
      gateway.serve([AppleApp(name: Self.app, topics: [Self.topic], key: key, environment: .sandbox)])
      return gateway
    } catch {
      throw BenchError("--ca-file \(caFile): \(error)")
    }
  }

  private static let app = "bench"
  private static let topic = "com.example.bench"

  // MARK: The load

  /// The results during the measurement.
  private struct Tally {
    var latencies: [Double] = []
    var others: [String: UInt64] = [:]
    var seconds = 0.0
    var processor = 0.0
    var connections = 0
    var streams = 0
  }

  private func load(on gateway: AppleGateway) async throws -> Tally {
    let width = width
    let begin = ContinuousClock.now + .seconds(warmUp)
    let end = begin + .seconds(seconds)
    return await withTaskGroup(of: Tally.self) { group in
      for worker in 0..<width { group.addTask { await push(on: gateway, worker, width, from: begin, to: end) } }
      group.addTask { await watch(gateway, from: begin, to: end) }
      var whole = Tally()
      for await part in group {
        whole.latencies += part.latencies
        whole.others.merge(part.others, uniquingKeysWith: +)
        whole.seconds = max(whole.seconds, part.seconds)
        whole.processor = max(whole.processor, part.processor)
        whole.connections = max(whole.connections, part.connections)
        whole.streams = max(whole.streams, part.streams)
      }
      return whole
    }
  }

  private func push(
    on gateway: AppleGateway, _ worker: Int, _ width: Int, from begin: ContinuousClock.Instant,
    to end: ContinuousClock.Instant
  ) async -> Tally {
    var tally = Tally()
    let payload = Self.payload(of: payloadSize)
    var number = worker
    while true {
      let start = ContinuousClock.now
      guard start < end else { return tally }
      let push = Push(
        id: UUID().uuidString.lowercased(),
        headers: PushHeaders(
          type: .alert, priority: .high, expiration: Int64(Date().timeIntervalSince1970) + 3600,
          collapseID: String(number), topic: Self.topic),
        payload: payload)
      let token = String(format: "%064x", number % Self.devices)
      let outcome = await gateway.send(
        push, to: Device(id: DeviceID(unchecked: "phone"), app: Self.app, platform: .apns, token: token))
      let now = ContinuousClock.now
      if case .sent = outcome {
        if begin <= now, now < end { tally.latencies.append((now - start).seconds) }
      } else {
        tally.others["\(outcome)", default: 0] += 1
        // Pause after a failure, so that this is not a busy loop.
        try? await Task.sleep(for: .milliseconds(100))
      }
      number += width
    }
  }

  /// Measures the processor time of this process, and the connections and streams in use.
  private func watch(
    _ gateway: AppleGateway, from begin: ContinuousClock.Instant, to end: ContinuousClock.Instant
  ) async -> Tally {
    var tally = Tally()
    try? await Task.sleep(until: begin)
    let (start, used) = (ContinuousClock.now, ServerUse.own)
    while ContinuousClock.now < end {
      let statistics = gateway.statistics
      tally.connections = max(tally.connections, statistics.connections)
      tally.streams = max(tally.streams, statistics.streams)
      try? await Task.sleep(until: min(end, .now + .milliseconds(50)))
    }
    tally.processor = ServerUse.own - used
    tally.seconds = (ContinuousClock.now - start).seconds
    return tally
  }

  private static func payload(of size: Int) -> [UInt8] {
    func payload(_ text: String) -> [UInt8] {
      JSONWriter.object { $0.object("aps") { $0.object("alert") { $0["body"] = text } } }
    }
    return payload(String(repeating: "x", count: size - payload("").count))
  }

  // MARK: The report

  private func report(of tally: Tally) -> BenchReport {
    let pushes = tally.latencies.count
    var report = BenchReport(
      load: "pushes", server: "\(address):\(simulatorPort)",
      shape: [
        BenchReport.Figure.number(maxConnections, "connection") + " at most",
        BenchReport.Figure.grouped(Double(width), 0) + " pushes at once",
        "payloads of " + BenchReport.Figure.number(payloadSize, "byte"),
      ].joined(separator: ", "))
    report.add(
      "options", "options",
      [
        .init("connections", "connections", .count(UInt64(maxConnections))),
        .init("streams", "streams", .count(UInt64(maxStreams))),
        .init("payload", "payload", .bytes(Double(payloadSize))),
      ])
    report.add(
      "pushes", "pushes",
      [
        .init("seconds", "measured for", .seconds(tally.seconds)),
        .init("accepted", "accepted", .rate(Double(pushes) / tally.seconds)),
      ])
    report.add("latency", "latency", Quantiles(tally.latencies))
    report.add(
      "gateway", "gateway",
      [
        .init("connections", "connections", .count(UInt64(tally.connections))),
        .init("streams", "streams", .count(UInt64(tally.streams))),
        .init("processor", "processor", .share(tally.processor / tally.seconds)),
        .init("processorPerPush", "a push", .seconds(tally.processor / Double(max(1, pushes)))),
      ])
    report.faults = [.init("unsent", "not accepted", .count(tally.others.values.reduce(0, +)))]
    if pushes == 0 { report.faults.append(.init("silent", "runs without a push", .count(1))) }
    report.problems = tally.others.map { (text: $0.key, times: $0.value) }.sorted { $0.times > $1.times }
    return report
  }
}
