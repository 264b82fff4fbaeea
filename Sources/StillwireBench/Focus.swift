// SPDX-License-Identifier: Apache-2.0
import ArgumentParser
import CLoad
import RelayIdentity

/// The load `focus`: reports the Focus of connected users over HTTP. With `--baseline`, compares with the minimal
/// server, ``Floor``.
struct Focus: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    abstract: "Report the Focus of connected users over HTTP.",
    discussion: """
      The users are connected over WebSocket, and share small rooms. Each report changes the Focus of the next user. \
      The first latency is that of the answer. The second one is that of the event which each room-mate receives. \
      Both begin at the planned time of the report, or with --alone when it is sent. A user reports again when all \
      room-mates have received the last report.

      With --baseline, the minimal server first accepts the same reports: it stores one row for each in SQLite, and \
      sends no events.
      """
  )

  @OptionGroup(title: "Relay") var target: BenchTarget
  @Option(help: ArgumentHelp("A file with an API key (default: open mode).", valueName: "file"))
  var apiKeyFile: String?
  @Option(help: "Users, one session each.") var sessions = 10_000
  @Option(help: "Rooms for the users (default: one for two users).") var rooms: Int?
  @Option(help: "HTTP connections, with one report in flight each.") var connections = 8
  @Option(help: "Reports a second in all, at a fixed pace (open loop, default: 500).") var rate: Double?
  @Flag(help: "Send one report after the other, on one connection (closed loop).") var alone = false
  @Option(help: ArgumentHelp("The duration of the measurement.", valueName: "seconds")) var seconds = 5.0
  @Option(help: ArgumentHelp("The time of reporting before the measurement.", valueName: "seconds")) var warmUp = 1.0
  @Option(
    help: ArgumentHelp(
      "Compare with the minimal server, with a database in this folder on the disk of the relay's database.",
      valueName: "folder"))
  var baseline: String?
  @Option(help: ArgumentHelp("The prefix of the rooms' names.", valueName: "name")) var prefix = "live.bench"

  func validate() throws {
    try BenchTarget.check("--sessions", sessions, 2...1_000_000)
    try BenchTarget.check("--rooms", rooms, 1...sessions / 2)
    try BenchTarget.check("--connections", connections, 1...1_000)
    try BenchTarget.check("--rate", rate, 0.1...1_000_000)
    try BenchTarget.check("--seconds", seconds, 0.1...86_400)
    try BenchTarget.check("--warm-up", warmUp, 0...3_600)
    try BenchTarget.checkPrefix(prefix)
    guard !alone || rate == nil else { throw ValidationError("--alone and --rate exclude each other") }
    guard target.tokenFile == nil else {
      throw ValidationError("--token-file does not name the users: use --secret-file and --api-key-file")
    }
  }

  private var roomCount: Int { rooms ?? sessions / 2 }
  private var width: Int { alone ? 1 : connections }
  /// Reports a second. 0: one after the other.
  private var pace: Double { alone ? 0 : rate ?? 500 }

  func run() async throws {
    let least = try await minimalServer()
    let fields = try apiKeyFile.map { try RelayRequests.authorization(keyFile: $0) }
    let run = try await BenchRun(target, sessions: sessions + width)
    let range = try await run.addSessions(sessions, in: run.addRooms(roomCount, prefix: prefix))
    try run.open(range)
    run.load.run(until: LOAD_CALM, atMost: BenchRun.patience)
    let taken = report(run, fields: fields.map { "\($0.name): \($0.value)\r\n" } ?? "")

    var report = run.report("focus", shape)
    report.add(
      "options", "options",
      [
        .init("sessions", "sessions", .count(UInt64(sessions))), .init("rooms", "rooms", .count(UInt64(roomCount))),
        .init("connections", "connections", .count(UInt64(width))),
        alone ? .init("alone", "alone", .count(1)) : .init("rate", "rate", .rate(pace)),
      ])
    report.add(
      "reports", "reports",
      [
        .init("seconds", "measured for", .seconds(taken.seconds)),
        .init("answered", "answered", .rate(Double(taken.reports) / taken.seconds)),
        .init("events", "events", .rate(Double(taken.events) / taken.seconds)),
      ])
    report.note(Double(taken.reports) / taken.seconds, of: alone ? nil : pace)
    report.add("latency", "answer", run.load.latency)
    report.add("eventLatency", "at room-mates", run.load.eventLatency)
    report.addServerUse(from: taken.used, to: taken.use, each: ("perReport", "a report", taken.reports))
    report.addWrites(from: taken.used, to: taken.use, of: taken.reports)
    if let least { add(least, beside: taken, to: &report) }
    report.addOwnUse(from: taken.used, to: taken.use)
    try run.finish(report, lost: run.load.counts.unanswered + run.load.counts.missing)
  }

  private var shape: String {
    [
      BenchReport.Figure.number(sessions, "session") + " in " + BenchReport.Figure.number(roomCount, "room"),
      alone
        ? "one report after the other"
        : "\(BenchReport.Figure.grouped(pace, 0)) reports a second on "
          + BenchReport.Figure.number(width, "connection"),
    ].joined(separator: ", ")
  }

  // MARK: The reports

  /// The reports and events in the measurement, and the use.
  private struct Taken {
    let reports, events: UInt64
    let used, use: Use
    /// From the planned time to the answer.
    let latency: Quantiles

    var seconds: Double { (use.time - used.time).seconds }
    /// The relay's processor time for a report. Is `nil` if the relay's process is unknown.
    var processor: Double? {
      guard let before = used.server, let after = use.server, reports > 0 else { return nil }
      return (after.processor - before.processor) / Double(reports)
    }
  }

  private func report(_ run: BenchRun, fields: String) -> Taken {
    run.load.report(
      as: run.userPrefix, fields: fields, users: 0..<UInt32(sessions), connections: UInt32(width), rate: pace)
    let (before, used, after, use) = run.measure(warmUp: warmUp, seconds: seconds)
    run.load.stopReporting()
    run.load.run(until: LOAD_SETTLED, atMost: .seconds(10))
    return Taken(
      reports: after.acknowledged - before.acknowledged, events: after.delivered - before.delivered, used: used,
      use: use, latency: run.load.latency)
  }

  // MARK: The minimal server

  /// Sends the same reports to the floor, before the sessions are open. Returns `nil` without `--baseline`.
  private func minimalServer() async throws -> Taken? {
    guard let baseline else { return nil }
    let floor = try Floor(folder: baseline, heartbeat: 25)
    defer { floor.stop() }
    let run = try await BenchRun(floor.target(like: target), sessions: width)
    let taken = report(run, fields: "")
    if let problem = run.load.problems.first { throw BenchError("--baseline: \(problem.text)") }
    return taken
  }

  private func add(_ least: Taken, beside relay: Taken, to report: inout BenchReport) {
    var figures: [BenchReport.Figure] = [
      .init("answered", "answered", .rate(Double(least.reports) / least.seconds)),
      .init("p50", "p50", .seconds(least.latency.p50)), .init("p99", "p99", .seconds(least.latency.p99)),
    ]
    if let processor = least.processor {
      figures.append(.init("perReport", "a report", .seconds(processor)))
      if let whole = relay.processor, processor > 0 {
        figures.append(.init("ratio", "relay to minimal server", .ratio(whole / processor)))
      }
    }
    report.add("baseline", "minimal server", figures)
    report.addWrites(from: least.used, to: least.use, of: least.reports, key: "baselineWrites")
  }
}
