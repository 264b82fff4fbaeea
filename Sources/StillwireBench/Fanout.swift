// SPDX-License-Identifier: Apache-2.0
import ArgumentParser
import CLoad

/// The load `fanout`: one large room.
struct Fanout: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    abstract: "Send messages to many sessions of a room.",
    discussion: "By default: 1,000 sessions in a room without history, one publisher, 32 messages in flight."
  )

  @OptionGroup(title: "Relay") var target: BenchTarget
  @OptionGroup(title: "Load") var broadcast: BroadcastOptions

  func run() async throws {
    try await broadcast.run("fanout", target, .init(sessions: 1000, rooms: 1, publishers: 1, window: 32))
  }
}

/// The load `rooms`: many small rooms.
struct Rooms: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    abstract: "Send messages in many small rooms.",
    discussion: "By default: 500 rooms with two sessions each, 100 publishers, 256 messages in flight."
  )

  @OptionGroup(title: "Relay") var target: BenchTarget
  @OptionGroup(title: "Load") var broadcast: BroadcastOptions

  func run() async throws {
    try await broadcast.run("rooms", target, .init(sessions: 1000, rooms: 500, publishers: 100, window: 256))
  }
}

/// The options of the loads `fanout` and `rooms`, and their measurement.
struct BroadcastOptions: ParsableArguments {
  @Option(help: "Sessions that receive.") var sessions: Int?
  @Option(help: "Rooms for the sessions, which are distributed evenly.") var rooms: Int?
  @Option(help: "Further sessions that publish, in turn.") var publishers: Int?
  @Option(help: "Bytes of a message's body.") var body = 128
  @Option(help: "Maximum number of messages in flight (closed loop): measures throughput.") var window: UInt32?
  @Option(help: "Messages a second in all, at a fixed pace (open loop): measures latency.") var rate: Double?
  @Option(help: ArgumentHelp("The duration of the measurement.", valueName: "seconds")) var seconds = 5.0
  @Option(help: ArgumentHelp("The time of publishing before the measurement.", valueName: "seconds")) var warmUp = 1.0
  @Option(
    help: ArgumentHelp(
      "The prefix of the rooms' names. It determines whether the relay stores their messages.", valueName: "name"))
  var prefix = "live.bench"

  struct Defaults {
    let sessions, rooms, publishers: Int
    let window: UInt32
  }

  func validate() throws {
    try BenchTarget.check("--sessions", sessions, 1...1_000_000)
    try BenchTarget.check("--rooms", rooms, 1...1_000_000)
    try BenchTarget.check("--publishers", publishers, 1...100_000)
    try BenchTarget.check("--body", body, Int(LOAD_MIN_BODY)...1 << 20)
    try BenchTarget.check("--window", window, 1...UInt32(LOAD_MAX_WINDOW))
    try BenchTarget.check("--rate", rate, 0.1...10_000_000)
    try BenchTarget.check("--seconds", seconds, 0.1...86_400)
    try BenchTarget.check("--warm-up", warmUp, 0...3_600)
    guard window == nil || rate == nil else { throw ValidationError("--window and --rate exclude each other") }
    try BenchTarget.checkPrefix(prefix)
  }

  func run(_ name: String, _ target: BenchTarget, _ defaults: Defaults) async throws {
    let sessions = sessions ?? defaults.sessions
    let publishers = publishers ?? defaults.publishers
    // Each room needs a session, or there is nothing to measure in it.
    let rooms = rooms ?? min(defaults.rooms, sessions)
    guard rooms <= sessions else { throw ValidationError("--rooms must not be more than --sessions") }
    let window = rate == nil ? window ?? defaults.window : 0

    let run = try await BenchRun(target, sessions: sessions + publishers)
    let load = run.load
    let numbers = run.addRooms(rooms, prefix: prefix)
    let listening = try await run.addSessions(sessions, in: numbers)
    let publishing = try await run.addSessions(publishers, in: numbers)
    try run.open(listening.lowerBound..<publishing.upperBound)
    try run.checkSendRate(each: rate.map { $0 / Double(publishers) })
    load.run(until: LOAD_CALM, atMost: BenchRun.patience)

    let (before, used, after, use) = run.publish(
      load_publish_t(
        first: publishing.lowerBound, count: UInt32(publishers), body: body, rate: rate ?? 0, window: window,
        acknowledged: false),
      warmUp: warmUp, seconds: seconds)
    let took = (use.time - used.time).seconds
    let published = after.published - before.published
    let delivered = after.delivered - before.delivered
    let pace = rate.map { "\(BenchReport.Figure.grouped($0, 0)) messages a second" } ?? "window \(window)"
    var report = run.report(
      name,
      [
        BenchReport.Figure.number(sessions, "session") + " in " + BenchReport.Figure.number(rooms, "room"),
        BenchReport.Figure.number(publishers, "publisher"), pace,
        "bodies of " + BenchReport.Figure.number(body, "byte"),
      ].joined(separator: ", "))
    report.add(
      "options", "options",
      [
        .init("sessions", "sessions", .count(UInt64(sessions))), .init("rooms", "rooms", .count(UInt64(rooms))),
        .init("publishers", "publishers", .count(UInt64(publishers))), .init("body", "body", .bytes(Double(body))),
        rate.map { .init("rate", "rate", .rate($0)) } ?? .init("window", "window", .count(UInt64(window))),
      ])
    report.add(
      "messages", "messages",
      [
        .init("seconds", "measured for", .seconds(took)),
        .init("published", "published", .rate(Double(published) / took)),
        .init("delivered", "delivered", .rate(Double(delivered) / took)),
      ])
    report.note(Double(published) / took, of: rate)
    report.add("latency", "latency", load.latency)
    report.addUse(from: used, to: use, each: ("perDelivery", "a delivery", delivered))
    try run.finish(report, lost: load.counts.missing)
  }
}
