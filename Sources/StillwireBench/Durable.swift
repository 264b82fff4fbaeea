// SPDX-License-Identifier: Apache-2.0
import ArgumentParser
import CLoad

/// The load `durable`: publishes stored messages. With `--baseline`, compares with SQLite alone.
struct Durable: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    abstract: "Send messages that the relay stores before it acknowledges them.",
    discussion: """
      Each publisher has its own room. The latency is that of the reply. With --baseline, SQLite alone then inserts \
      the same rows, with all messages in flight in one transaction: this is the limit of the disk. The rooms \
      stay in the relay's database.
      """
  )

  @OptionGroup(title: "Relay") var target: BenchTarget
  @Option(help: "Sessions that publish, each to its own room.") var publishers = 64
  @Option(help: "Bytes of a message's body.") var body = 128
  @Option(help: "Maximum number of messages in flight for each publisher (default: 1).") var window: UInt32?
  @Option(help: "Messages a second in all, at a fixed pace (open loop).") var rate: Double?
  @Option(help: ArgumentHelp("The duration of the measurement.", valueName: "seconds")) var seconds = 5.0
  @Option(help: ArgumentHelp("The time of publishing before the measurement.", valueName: "seconds")) var warmUp = 1.0
  @Option(
    help: ArgumentHelp("Compare with SQLite alone, in this folder on the disk of the database.", valueName: "folder"))
  var baseline: String?
  @Option(help: ArgumentHelp("The prefix of the rooms' names.", valueName: "name")) var prefix = "bench"

  func validate() throws {
    try BenchTarget.check("--publishers", publishers, 1...100_000)
    try BenchTarget.check("--body", body, Int(LOAD_MIN_BODY)...1 << 20)
    try BenchTarget.check("--window", window, 1...UInt32(LOAD_MAX_UNFINISHED))
    try BenchTarget.check("--rate", rate, 0.1...10_000_000)
    try BenchTarget.check("--seconds", seconds, 0.1...86_400)
    try BenchTarget.check("--warm-up", warmUp, 0...3_600)
    try BenchTarget.checkPrefix(prefix)
    guard window == nil || rate == nil else { throw ValidationError("--window and --rate exclude each other") }
    guard rate == nil || baseline == nil else { throw ValidationError("--baseline needs a closed loop, not --rate") }
  }

  func run() async throws {
    let window = rate == nil ? window ?? 1 : 0
    let run = try await BenchRun(target, sessions: publishers)
    let load = run.load
    let range = try await run.addSessions(publishers, in: run.addRooms(publishers, prefix: prefix))
    try run.open(range)
    try run.checkSendRate(each: rate.map { $0 / Double(publishers) })
    load.run(until: LOAD_CALM, atMost: BenchRun.patience)

    let (before, used, after, use) = run.publish(
      load_publish_t(
        first: range.lowerBound, count: UInt32(publishers), body: body, rate: rate ?? 0, window: window,
        acknowledged: true),
      warmUp: warmUp, seconds: seconds)
    let took = (use.time - used.time).seconds
    let acknowledged = after.acknowledged - before.acknowledged
    let pace = rate.map { "\(BenchReport.Figure.grouped($0, 0)) messages a second" } ?? "window \(window) each"
    var report = run.report(
      "durable",
      [
        BenchReport.Figure.number(publishers, "publisher"), pace,
        "bodies of " + BenchReport.Figure.number(body, "byte"),
      ].joined(separator: ", "))
    report.add(
      "options", "options",
      [
        .init("publishers", "publishers", .count(UInt64(publishers))),
        .init("body", "body", .bytes(Double(body))),
        rate.map { .init("rate", "rate", .rate($0)) } ?? .init("window", "window", .count(UInt64(window))),
      ])
    report.add(
      "messages", "messages",
      [
        .init("seconds", "measured for", .seconds(took)),
        .init("acknowledged", "acknowledged", .rate(Double(acknowledged) / took)),
      ])
    report.note(Double(after.published - before.published) / took, of: rate)
    report.add("latency", "latency", load.latency)
    report.addUse(from: used, to: use, each: ("perMessage", "a message", acknowledged))
    if let baseline {
      let alone = try compare(in: baseline, group: UInt32(publishers) * window)
      report.add(
        "baseline", "SQLite alone",
        [
          .init("rows", "rows", .rate(alone.rate)), .init("p50", "commit p50", .seconds(Double(alone.median) / 1e9)),
          .init("p99", "p99", .seconds(Double(alone.high) / 1e9)),
          .init("p999", "p99.9", .seconds(Double(alone.highest) / 1e9)),
          .init("ratio", "relay to SQLite", .ratio(Double(acknowledged) / took / alone.rate)),
        ])
    }
    try run.finish(report, lost: load.counts.unanswered + load.counts.missing)
  }

  private func compare(in folder: String, group: UInt32) throws -> load_baseline_result_t {
    var baseline = load_baseline_t(rooms: UInt32(publishers), body: body, group: group, seconds: seconds)
    var result = load_baseline_result_t()
    var why = [CChar](repeating: 0, count: 256)
    guard load_baseline_run(&baseline, folder, &result, &why, why.count) else {
      throw BenchError("--baseline: \(text(why))")
    }
    return result
  }
}
