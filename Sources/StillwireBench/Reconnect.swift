// SPDX-License-Identifier: Apache-2.0
import ArgumentParser
import CLoad

/// The load `reconnect`: cuts sessions during publishing, reconnects them and checks what they recover.
struct Reconnect: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    abstract: "Disconnect all sessions at once and reconnect them.",
    discussion: """
      Messages continue meanwhile. A session that reconnects joins with its last position, and must receive each \
      message that it missed once. The rooms must keep enough messages. They stay in the relay's database.
      """
  )

  @OptionGroup(title: "Relay") var target: BenchTarget
  @Option(help: "Sessions to disconnect.") var sessions = 1000
  @Option(help: "Rooms for the sessions, with a publisher each.") var rooms = 10
  @Option(help: "Messages a second in all.") var rate = 100.0
  @Option(help: "Bytes of a message's body.") var body = 128
  @Option(help: ArgumentHelp("The time until they reconnect.", valueName: "seconds")) var away = 1.0
  @Option(help: "Sessions to reconnect in a second. 0: all at once, 256 at a time.") var returnRate = 0.0
  @Option(help: ArgumentHelp("The prefix of the rooms' names.", valueName: "name")) var prefix = "bench"

  func validate() throws {
    try BenchTarget.check("--sessions", sessions, 1...1_000_000)
    try BenchTarget.check("--rooms", rooms, 1...sessions)
    try BenchTarget.check("--rate", rate, 0.1...10_000_000)
    try BenchTarget.check("--body", body, Int(LOAD_MIN_BODY)...1 << 20)
    try BenchTarget.check("--away", away, 0...3_600)
    try BenchTarget.check("--return-rate", returnRate, 0...1_000_000)
    try BenchTarget.checkPrefix(prefix)
  }

  func run() async throws {
    let run = try await BenchRun(target, sessions: sessions + rooms)
    let load = run.load
    let numbers = run.addRooms(rooms, prefix: prefix)
    let range = try await run.addSessions(sessions, in: numbers)
    let publishing = try await run.addSessions(rooms, in: numbers)
    try run.open(range.lowerBound..<publishing.upperBound)
    try run.checkSendRate(each: rate / Double(rooms))
    load.run(until: LOAD_CALM, atMost: BenchRun.patience)

    load.publish(
      load_publish_t(
        first: publishing.lowerBound, count: UInt32(rooms), body: body, rate: rate, window: 0, acknowledged: false))
    load.run(atMost: .seconds(1))
    load.cut(range)
    load.run(atMost: .seconds(away))
    load.forgetOpenings()
    let used = run.use()
    load.open(range, rate: returnRate)
    let patience = .seconds(returnRate > 0 ? Double(sessions) / returnRate : 0) + BenchRun.patience
    let hasReturned = load.run(until: LOAD_OPENED, atMost: patience)
    let use = run.use()
    load.measure(true)
    load.run(atMost: .seconds(1))
    load.measure(false)
    load.stopPublishing()
    load.run(until: LOAD_SETTLED, atMost: .seconds(10))

    let counts = load.counts
    var report = run.report(
      "reconnect",
      BenchReport.Figure.number(sessions, "session") + " in " + BenchReport.Figure.number(rooms, "room")
        + ", away for \(BenchReport.Figure.grouped(away, 1)) s, "
        + "\(BenchReport.Figure.grouped(rate, 0)) messages a second")
    report.add(
      "options", "options",
      [
        .init("sessions", "sessions", .count(UInt64(sessions))), .init("rooms", "rooms", .count(UInt64(rooms))),
        .init("rate", "rate", .rate(rate)), .init("body", "body", .bytes(Double(body))),
        .init("away", "away", .seconds(away)), .init("returnRate", "return rate", .rate(returnRate)),
      ])
    report.add(
      "recovery", "recovery",
      [
        .init("all", "all reconnected after", .seconds((use.time - used.time).seconds)),
        .init("messages", "recovered messages", .count(counts.recovered)),
      ])
    report.add("opening", "reconnect", load.opening)
    report.add("latency", "latency after", load.latency)
    report.addUse(from: used, to: use, each: ("perSession", "a session", UInt64(sessions)))
    if !hasReturned { report.notes.append("not all sessions reconnected before the timeout") }
    try run.finish(
      report, lost: counts.missing,
      more: [
        .init("unrecovered", "unrecovered", .count(counts.unrecovered)),
        .init("absent", "disconnected", .count(UInt64(sessions + rooms) - min(counts.open, UInt64(sessions + rooms)))),
      ])
  }
}
