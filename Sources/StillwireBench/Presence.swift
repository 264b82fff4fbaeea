// SPDX-License-Identifier: Apache-2.0
import ArgumentParser
import CLoad

/// The load `presence`: fills one room, then disconnects and reconnects some of its users.
struct Presence: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    abstract: "Connect and disconnect many users of one room.",
    discussion: """
      First all join within --within seconds. Then some of them disconnect and reconnect in turn. Counts the events \
      that the others receive, and checks at the end that all sessions have the right number of members.
      """
  )

  @OptionGroup(title: "Relay") var target: BenchTarget
  @Option(help: "Users, one session each.") var sessions = 1000
  @Option(help: ArgumentHelp("The time in which they join.", valueName: "seconds")) var within = 5.0
  @Option(help: "Users that disconnect and reconnect (default: a tenth).") var flapping: Int?
  @Option(help: "Disconnects and reconnects a second.") var rate = 100.0
  @Option(help: ArgumentHelp("The time for which they do so. 0: not at all.", valueName: "seconds")) var seconds = 5.0
  @Option(help: ArgumentHelp("The prefix of the room's name.", valueName: "name")) var prefix = "live.bench"

  func validate() throws {
    try BenchTarget.check("--sessions", sessions, 2...1_000_000)
    try BenchTarget.check("--within", within, 0.1...3_600)
    try BenchTarget.check("--flapping", flapping, 1...sessions - 1)
    try BenchTarget.check("--rate", rate, 0.1...100_000)
    try BenchTarget.check("--seconds", seconds, 0...86_400)
    try BenchTarget.checkPrefix(prefix)
  }

  func run() async throws {
    let flapping = flapping ?? max(1, sessions / 10)
    var target = target
    target.connectRate = Double(sessions) / within
    let run = try await BenchRun(target, sessions: sessions)
    let load = run.load
    let room = run.addRooms(1, prefix: prefix)
    let range = try await run.addSessions(sessions, in: room)
    let start = run.use()
    try run.open(range)
    var misinformed = settle(run, range)
    let (joined, joinCounts) = (run.use(), load.counts)

    var report = run.report(
      "presence",
      BenchReport.Figure.number(sessions, "user")
        + " join a room in \(BenchReport.Figure.grouped(within, 1)) s, then \(flapping) disconnect and reconnect")
    report.add(
      "options", "options",
      [
        .init("sessions", "sessions", .count(UInt64(sessions))), .init("within", "within", .seconds(within)),
        .init("flapping", "flapping", .count(UInt64(flapping))), .init("rate", "rate", .rate(rate)),
        .init("seconds", "seconds", .seconds(seconds)),
      ])
    report.add("opening", "joining", load.opening)
    report.add("joinEvents", "  events", events(joinCounts, since: load_counts_t(), for: sessions))
    report.addServerUse(
      from: start, to: joined, each: ("perSession", "a session", joinCounts.open), key: "joinUse",
      title: "  relay")
    if seconds > 0 {
      let some = range.lowerBound..<range.lowerBound + UInt32(flapping)
      let before = run.use()
      load.flap(some, rate: rate)
      load.run(atMost: .seconds(seconds))
      load.flap(some, rate: 0)
      load.run(until: LOAD_OPENED, atMost: BenchRun.patience)
      load.open(some, rate: rate)
      load.run(until: LOAD_OPENED, atMost: BenchRun.patience)
      misinformed += settle(run, range)
      let (after, counts) = (run.use(), load.counts)
      report.add(
        "flaps", "flapping",
        [.init("flaps", "disconnects and reconnects", .count(counts.flaps))])
      report.add("flapEvents", "  events", events(counts, since: joinCounts, for: sessions))
      report.addServerUse(
        from: before, to: after, each: ("perFlap", "each", counts.flaps), key: "flapUse",
        title: "  relay")
    }
    report.addOwnUse(from: start, to: run.use())
    try run.finish(
      report, lost: 0, more: [.init("misinformed", "sessions with a wrong count", .count(UInt64(misinformed)))])
  }

  /// Waits until all sessions have the right number of members, because the relay sends counts of large rooms once a
  /// second. Returns the number of sessions that still have a wrong one.
  private func settle(_ run: BenchRun, _ range: Range<UInt32>) -> UInt32 {
    var wrong: UInt32 = 0
    for _ in 0..<20 {
      run.load.run(until: LOAD_CALM, atMost: .seconds(0.5))
      wrong = run.load.misinformed(range, memberCount: run.load.counts.open)
      if wrong == 0 { break }
    }
    return wrong
  }

  private func events(_ counts: load_counts_t, since before: load_counts_t, for sessions: Int) -> [BenchReport.Figure] {
    let presence = counts.presence - before.presence
    let member = counts.member - before.member
    let tallies = counts.counts - before.counts
    return [
      .init("presence", "presence", .count(presence)), .init("member", "member", .count(member)),
      .init("counts", "counts", .count(tallies)),
      .init("perSession", "a session", .ratio(Double(presence + member + tallies) / Double(sessions))),
      .init("most", "most of one session so far", .count(counts.max_events)),
    ]
  }
}
