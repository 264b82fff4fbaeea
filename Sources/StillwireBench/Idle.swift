// SPDX-License-Identifier: Apache-2.0
import ArgumentParser
import CLoad

/// The load `idle`: opens sessions and measures their memory and processor time.
struct Idle: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    abstract: "Open sessions that do nothing.",
    discussion: """
      Measures the processor time to open a session, its memory, and its processor time while idle. If --seconds is \
      longer than the relay's heartbeat (25), this includes pings.
      """
  )

  @OptionGroup(title: "Relay") var target: BenchTarget
  @Option(help: "Sessions.") var sessions = 1000
  @Option(help: "Rooms for the sessions (default: one for each session).") var rooms: Int?
  @Option(help: ArgumentHelp("The time for which they are idle.", valueName: "seconds")) var seconds = 30.0
  @Option(help: ArgumentHelp("The prefix of the rooms' names.", valueName: "name")) var prefix = "live.bench"

  func validate() throws {
    try BenchTarget.check("--sessions", sessions, 1...1_000_000)
    try BenchTarget.check("--rooms", rooms, 1...sessions)
    try BenchTarget.check("--seconds", seconds, 0.1...86_400)
    try BenchTarget.checkPrefix(prefix)
  }

  func run() async throws {
    let rooms = rooms ?? sessions
    let run = try await BenchRun(target, sessions: sessions)
    let load = run.load
    let range = try await run.addSessions(sessions, in: run.addRooms(rooms, prefix: prefix))
    let start = run.use()
    try run.open(range)
    load.run(until: LOAD_CALM, atMost: BenchRun.patience)
    let (opened, counts) = (run.use(), load.counts)
    load.run(atMost: .seconds(seconds))
    let (end, after) = (run.use(), load.counts)

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
    report.add("opening", "opening", load.opening)
    if let before = start.server, let after = opened.server {
      report.add(
        "session", "a session",
        [
          .init("memory", "memory", .bytes((after.memory - before.memory) / Double(counts.open))),
          .init(
            "processor", "processor to open", .seconds((after.processor - before.processor) / Double(counts.open))),
        ])
    }
    report.add("heartbeat", "heartbeat", [.init("pings", "pings answered", .count(after.pings - counts.pings))])
    report.addUse(from: opened, to: end, each: nil)
    try run.finish(report, lost: 0)
  }
}
