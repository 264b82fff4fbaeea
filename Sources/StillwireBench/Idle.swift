// SPDX-License-Identifier: Apache-2.0
import ArgumentParser
import CLoad

/// The load `idle`: opens sessions and measures their memory and processor time.
struct Idle: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    abstract: "Open sessions that do nothing.",
    discussion: """
      Measures the processor time to open a session, its memory, and its processor time while idle. If --seconds is \
      longer than the relay's heartbeat (25), this includes pings: give a multiple of the heartbeat.
      """
  )

  @OptionGroup(title: "Relay") var target: BenchTarget
  @Option(help: "Sessions.") var sessions = 1000
  @Option(help: "Rooms for the sessions (default: one for each session).") var rooms: Int?
  @Option(help: ArgumentHelp("The time for which they are idle.", valueName: "seconds")) var seconds = 30.0
  @Flag(help: "First measure the minimal server, which holds the same sessions: it only sends pings, and reads pongs.")
  var baseline = false
  @Option(help: ArgumentHelp("The prefix of the rooms' names.", valueName: "name")) var prefix = "live.bench"

  func validate() throws {
    try BenchTarget.check("--sessions", sessions, 1...1_000_000)
    try BenchTarget.check("--rooms", rooms, 1...sessions)
    try BenchTarget.check("--seconds", seconds, 0.1...86_400)
    try BenchTarget.checkPrefix(prefix)
  }

  func run() async throws {
    let rooms = rooms ?? sessions
    let least = try await minimalServer(rooms: rooms)
    let run = try await BenchRun(target, sessions: sessions)
    let taken = try await idle(run, rooms: rooms)

    var report = run.report(
      "idle",
      BenchReport.Figure.number(sessions, "session") + " in " + BenchReport.Figure.number(rooms, "room")
        + ", idle for \(BenchReport.Figure.grouped(seconds, 0)) s")
    report.add(
      "options", "options",
      [
        .init("sessions", "sessions", .count(UInt64(sessions))), .init("rooms", "rooms", .count(UInt64(rooms))),
        .init("seconds", "seconds", .seconds(seconds)),
      ])
    report.add("opening", "opening", run.load.opening)
    if let memory = taken.memory, let processor = taken.processorToOpen {
      report.add(
        "session", "a session",
        [.init("memory", "memory", .bytes(memory)), .init("processor", "processor to open", .seconds(processor))])
    }
    report.add("heartbeat", "heartbeat", [.init("pings", "pings answered", .count(taken.pings))])
    report.addUse(from: taken.opened, to: taken.end, each: nil)
    if let least, let processor = least.processor {
      var figures: [BenchReport.Figure] = [
        .init("processor", "processor", .share(processor)), .init("pings", "pings answered", .count(least.pings)),
      ]
      if let whole = taken.processor, processor > 0 {
        figures.append(.init("ratio", "relay to minimal server", .ratio(whole / processor)))
      }
      report.add("baseline", "minimal server", figures)
    }
    try run.finish(report, lost: 0)
  }

  /// The use before the sessions open, when they are open, and at the end.
  private struct Taken {
    let start, opened, end: Use
    let sessions, pings: UInt64

    /// The bytes of a session. Is `nil`, as the others, if the relay's process is unknown.
    var memory: Double? { opened(\.memory) }
    var processorToOpen: Double? { opened(\.processor) }
    /// The share of a processor while the sessions are idle.
    var processor: Double? {
      guard let before = opened.server, let after = end.server else { return nil }
      return (after.processor - before.processor) / (end.time - opened.time).seconds
    }

    private func opened(_ value: KeyPath<ServerUse, Double>) -> Double? {
      guard let before = start.server, let after = opened.server else { return nil }
      return (after[keyPath: value] - before[keyPath: value]) / Double(sessions)
    }
  }

  private func idle(_ run: BenchRun, rooms: Int) async throws -> Taken {
    let load = run.load
    let range = try await run.addSessions(sessions, in: run.addRooms(rooms, prefix: prefix))
    let start = run.use()
    try run.open(range)
    load.run(until: LOAD_CALM, atMost: BenchRun.patience)
    let (opened, counts) = (run.use(), load.counts)
    load.run(atMost: .seconds(seconds))
    return Taken(
      start: start, opened: opened, end: run.use(), sessions: counts.open, pings: load.counts.pings - counts.pings)
  }

  /// Holds the same sessions with the floor, at the relay's heartbeat. Returns `nil` without `--baseline`.
  private func minimalServer(rooms: Int) async throws -> Taken? {
    guard baseline else { return nil }
    let floor = try Floor(folder: nil, heartbeat: try await relayHeartbeat())
    defer { floor.stop() }
    let run = try await BenchRun(floor.target(like: target), sessions: sessions)
    let taken = try await idle(run, rooms: rooms)
    if let problem = run.load.problems.first { throw BenchError("--baseline: \(problem.text)") }
    return taken
  }

  private func relayHeartbeat() async throws -> Double {
    let run = try await BenchRun(target, sessions: 1)
    try run.open(try await run.addSessions(1, in: run.addRooms(1, prefix: prefix)))
    return run.load.welcome?.heartbeat ?? 25
  }
}
