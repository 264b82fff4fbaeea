// SPDX-License-Identifier: Apache-2.0
import ArgumentParser

/// The load `decisions`: predicts the decisions about messages that are not sent.
struct Decisions: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    abstract: "Request the decisions about messages, without sending the messages.",
    discussion: """
      Makes rooms with recipients, devices and preferences: quiet hours, muted rooms, blocks, and a Focus that is on. \
      Then each connection sends `POST /v1/decisions`, and the next request follows when the answer arrives (closed \
      loop). Each answer must have the expected decision for each device. The devices have the platform `simulator`, \
      so a relay that requires tokens needs --simulated-phones true. The rooms and users stay in the relay's database.
      """
  )

  @OptionGroup(title: "Relay") var relay: BenchRelay
  @Option(help: ArgumentHelp("A file with an API key (default: open mode).", valueName: "file"))
  var apiKeyFile: String?
  @Option(help: "Connections, with one request in flight each.") var connections = 8
  @Option(help: "Devices of each recipient.") var devices = 4
  @Option(help: "Recipients, in turn one of each case.") var recipients = 160
  @Option(help: "Rooms for the recipients. Each room has all cases (default: 10, or fewer for few recipients).")
  var rooms: Int?
  @Option(help: ArgumentHelp("The duration of the measurement.", valueName: "seconds")) var seconds = 5.0
  @Option(help: ArgumentHelp("The time of requests before the measurement.", valueName: "seconds")) var warmUp = 1.0
  @Option(help: ArgumentHelp("The prefix of the rooms' names.", valueName: "name")) var prefix = "bench"

  private static let cases = DecisionCase.allCases

  func validate() throws {
    try BenchTarget.check("--connections", connections, 1...1_000)
    try BenchTarget.check("--devices", devices, 1...1_000)
    try BenchTarget.check("--recipients", recipients, Self.cases.count...100_000)
    try BenchTarget.check("--rooms", rooms, 1...recipients / Self.cases.count)
    // A reported Focus counts for 12 hours.
    try BenchTarget.check("--seconds", seconds, 0.1...36_000)
    try BenchTarget.check("--warm-up", warmUp, 0...3_600)
    try BenchTarget.checkPrefix(prefix)
  }

  func run() async throws {
    let process = try Load(relay).process
    let requests = try RelayRequests(to: relay, width: connections, apiKeyFile: apiKeyFile)
    defer { requests.close() }
    let scene = DecisionScene(
      run: BenchRun.randomName(), rooms: roomCount, prefix: prefix, recipients: recipients, devices: devices)
    for step in scene.preparation { try await requests.perform(step) }

    let tally = DecisionTally()
    let begin = ContinuousClock.now + .seconds(warmUp)
    let end = begin + .seconds(seconds)
    let (used, use) = await withTaskGroup { group in
      for _ in 0..<connections {
        group.addTask {
          while ContinuousClock.now < end { await scene.ask(over: requests, tally) }
        }
      }
      try? await Task.sleep(until: begin)
      let used = Use(of: process)
      tally.measure(true)
      try? await Task.sleep(until: end)
      tally.measure(false)
      let use = Use(of: process)
      await group.waitForAll()
      return (used, use)
    }
    try relay.finish(report(of: tally, from: used, to: use))
  }

  private var roomCount: Int { rooms ?? min(10, recipients / Self.cases.count) }

  // MARK: The report

  private func report(of tally: DecisionTally, from used: Use, to use: Use) -> BenchReport {
    let took = (use.time - used.time).seconds
    let decisions = tally.answers * UInt64(devices)
    var report = BenchReport(
      load: "decisions", server: "\(relay.address):\(relay.port)",
      shape: [
        BenchReport.Figure.number(connections, "connection"),
        BenchReport.Figure.number(recipients, "recipient") + " in " + BenchReport.Figure.number(roomCount, "room"),
        BenchReport.Figure.number(devices, "device") + " each",
      ].joined(separator: ", "))
    report.add(
      "options", "options",
      [
        .init("connections", "connections", .count(UInt64(connections))),
        .init("devices", "devices", .count(UInt64(devices))),
        .init("recipients", "recipients", .count(UInt64(recipients))),
        .init("rooms", "rooms", .count(UInt64(roomCount))),
      ])
    report.add(
      "decisions", "decisions",
      [
        .init("seconds", "measured for", .seconds(took)),
        .init("requests", "requests", .rate(Double(tally.answers) / took)),
        .init("decisions", "decisions", .rate(Double(decisions) / took)),
      ])
    report.add("latency", "latency", tally.latency)
    report.addUse(from: used, to: use, each: ("perDecision", "a decision", decisions))
    report.faults = DecisionTally.Fault.allCases.map { fault in
      .init(fault.rawValue, fault.rawValue, .count(tally.faults(fault)))
    }
    if tally.answers == 0 { report.faults.append(.init("silent", "runs without a decision", .count(1))) }
    report.problems = tally.problems
    return report
  }
}
