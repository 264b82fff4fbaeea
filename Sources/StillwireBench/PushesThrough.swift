// SPDX-License-Identifier: Apache-2.0
import ArgumentParser
import Foundation
import RelayJSON
import Synchronization

/// The options of the load `pushes --through`, and its measurement: messages to members who are away, until the relay
/// has ended their pushes.
struct ThroughOptions: ParsableArguments {
  @Flag(help: "Send messages to a relay, which sends the pushes.") var through = false
  @Option(
    help: ArgumentHelp("The relay's process (default: the process that listens on the port).", valueName: "pid"))
  var pid: Int32?
  @Option(help: ArgumentHelp("A file with an API key of the relay (default: open mode).", valueName: "file"))
  var apiKeyFile: String?
  @Option(help: ArgumentHelp("The app in the relay's configuration (default: com.example.bench).", valueName: "name"))
  var app: String?
  @Option(help: "Rooms, which get a message in turn (default: 200).") var rooms: Int?
  @Option(help: "Members of each room who are away, with one device each (default: 10).") var members: Int?
  @Option(help: ArgumentHelp("The prefix of the rooms' names (default: bench).", valueName: "name")) var prefix: String?

  /// True for each option that is given. They need `--through`.
  var given: [String: Bool] {
    [
      "--pid": pid != nil, "--api-key-file": apiKeyFile != nil, "--app": app != nil, "--rooms": rooms != nil,
      "--members": members != nil, "--prefix": prefix != nil,
    ]
  }

  var roomCount: Int { rooms ?? 200 }
  var membersPerRoom: Int { members ?? 10 }

  func validate() throws {
    try BenchTarget.check("--rooms", rooms, 1...100_000)
    try BenchTarget.check("--members", members, 1...1_000)
    if let prefix { try BenchTarget.checkPrefix(prefix) }
  }

  struct Pace {
    let connections: Int
    var atOnce: Int
    let warmUp, seconds: Double
  }

  func run(on relay: BenchRelay, _ pace: Pace) async throws {
    var pace = pace
    pace.atOnce = max(pace.atOnce, membersPerRoom)  // the pushes of one message begin together
    let process = try Load(relay).process
    let requests = try RelayRequests(to: relay, width: pace.connections, apiKeyFile: apiKeyFile)
    let watching = try RelayRequests(to: relay, width: 1, apiKeyFile: apiKeyFile)
    defer {
      requests.close()
      watching.close()
    }
    let scene = PushScene(run: BenchRun.randomName(), self)
    for step in scene.preparation { try await requests.perform(step) }

    let tally = ThroughTally(from: try await PushResults(of: watching), members: membersPerRoom, atOnce: pace.atOnce)
    let begin = ContinuousClock.now + .seconds(pace.warmUp)
    let end = begin + .seconds(pace.seconds)
    let measured = try await withThrowingTaskGroup { group in
      for _ in 0..<pace.connections {
        group.addTask {
          while ContinuousClock.now < end { await scene.send(over: requests, tally) }
        }
      }
      try await tally.watch(watching, until: begin)
      let (used, before) = (Use(of: process), tally.results)
      try await tally.watch(watching, until: end)
      let (use, after) = (Use(of: process), tally.results)
      try await group.waitForAll()
      return (used, before, use, after)
    }
    try await tally.settle(watching)
    let (used, before, use, after) = measured
    let took = (use.time - used.time).seconds
    var report = self.report(on: relay, pace)
    report.add(
      "pushes", "pushes",
      [
        .init("seconds", "measured for", .seconds(took)),
        .init("ended", "ended", .rate(Double(after.sent - before.sent) / took)),
      ])
    report.addServerUse(from: used, to: use, each: ("perPush", "a push", after.sent - before.sent))
    report.addWrites(from: used, to: use, of: after.sent - before.sent)
    report.addOwnUse(from: used, to: use)
    report.faults = tally.faults
    if after.sent == before.sent { report.faults.append(.init("silent", "runs without a push", .count(1))) }
    report.problems = tally.problems
    try relay.finish(report)
  }

  private func report(on relay: BenchRelay, _ pace: Pace) -> BenchReport {
    var report = BenchReport(
      load: "pushes", server: "\(relay.address):\(relay.port)",
      shape: [
        BenchReport.Figure.number(roomCount, "room") + " with " + BenchReport.Figure.number(membersPerRoom, "member")
          + " away",
        BenchReport.Figure.number(pace.connections, "connection"),
        BenchReport.Figure.grouped(Double(pace.atOnce), 0) + " pushes at once",
      ].joined(separator: ", "))
    report.add(
      "options", "options",
      [
        .init("rooms", "rooms", .count(UInt64(roomCount))), .init("members", "members", .count(UInt64(membersPerRoom))),
        .init("connections", "connections", .count(UInt64(pace.connections))),
        .init("atOnce", "at once", .count(UInt64(pace.atOnce))),
      ])
    return report
  }
}

/// The rooms and devices of a run of the load `pushes --through`, and its messages.
private struct PushScene: Sendable {
  /// The requests that make the rooms and devices. Each list needs the results of the earlier ones.
  private(set) var preparation: [[RelayRequests.Request]] = [[], []]
  private var messages: [RelayRequests.Request] = []

  init(run: String, _ options: ThroughOptions) {
    let tokens = UInt64.random(in: 0...UInt64.max)
    for number in 0..<options.roomCount {
      let (room, sender) = ("\(options.prefix ?? "bench")-\(run)-\(number)", "bench-\(run)-sender-\(number)")
      preparation[0].append(
        .init(
          "POST", "/v1/rooms",
          JSONWriter.object {
            $0["room"] = room
            $0["owner"] = sender
          }))
      for member in 0..<options.membersPerRoom {
        let user = "bench-\(run)-\(number)-\(member)"
        preparation[1].append(.init("PUT", "/v1/rooms/\(room)/members/\(user)"))
        preparation[1].append(
          .init(
            "PUT", "/v1/users/\(user)/devices/phone",
            JSONWriter.object {
              $0["platform"] = "apns"
              $0["app"] = options.app ?? "com.example.bench"
              $0["token"] = String(format: "%032lx%032lx", tokens, UInt64(number * options.membersPerRoom + member))
            }))
      }
      messages.append(
        .init(
          "POST", "/v1/rooms/\(room)/messages",
          JSONWriter.object {
            $0["from"] = sender
            $0.object("body") { $0["text"] = "A message of the load `pushes --through`" }
          }))
    }
  }

  /// Sends the next message as soon as fewer pushes than allowed are in flight.
  func send(over requests: RelayRequests, _ tally: ThroughTally) async {
    guard let number = tally.next() else {
      try? await Task.sleep(for: .milliseconds(2))
      return
    }
    do {
      let answer = try await requests.send(messages[number % messages.count])
      if answer.status == 201 { return }
      tally.refused(RelayRequests.refusal(answer.status, answer.body))
    } catch {
      tally.refused("\(error)")
    }
    // Pause after a fault, so that this is not a busy loop.
    try? await Task.sleep(for: .milliseconds(100))
  }
}

/// The ends of pushes that the relay has counted.
private struct PushResults: Sendable {
  var sent: UInt64 = 0
  /// Pushes that ended in another way.
  var unsent: UInt64 = 0
  /// Attempts that the relay repeats.
  var repeated: UInt64 = 0

  /// Reads the relay's metrics. Throws ``BenchError``.
  init(of relay: RelayRequests) async throws {
    let answer: (status: Int, body: [UInt8])
    do {
      answer = try await relay.send(.init("GET", "/metrics"))
    } catch {
      throw BenchError("GET /metrics: \(error)")
    }
    guard answer.status == 200 else {
      throw BenchError("GET /metrics: \(RelayRequests.refusal(answer.status, answer.body))")
    }
    for line in String(decoding: answer.body, as: UTF8.self).split(separator: "\n") {
      guard line.hasPrefix("stillwire_pushes_total{"), let last = line.split(separator: " ").last,
        let value = UInt64(last)
      else { continue }
      if line.contains("\"sent\"") {
        sent = value
      } else if line.contains("\"dead\"") || line.contains("\"expired\"") {
        unsent += value
      } else {
        repeated += value
      }
    }
  }
}

/// The messages and pushes of a run of the load `pushes --through`.
private final class ThroughTally: Sendable {
  private struct State {
    var messages = 0
    var refused: UInt64 = 0
    var results: PushResults
    var problems: [String: UInt64] = [:]
  }

  private let state: Mutex<State>
  private let before: PushResults
  private let members, atOnce: Int

  init(from results: PushResults, members: Int, atOnce: Int) {
    before = results
    state = Mutex(State(results: results))
    self.members = members
    self.atOnce = atOnce
  }

  /// Returns the number of the next message, or `nil` while too many pushes are in flight.
  func next() -> Int? {
    state.withLock {
      guard inFlight($0) + members <= atOnce else { return nil }
      $0.messages += 1
      return $0.messages - 1
    }
  }

  private func inFlight(_ state: State) -> Int {
    (state.messages - Int(state.refused)) * members
      - Int(state.results.sent - before.sent + state.results.unsent - before.unsent)
  }

  func refused(_ problem: String) {
    state.withLock {
      $0.refused += 1
      $0.problems[problem, default: 0] += 1
    }
  }

  var results: PushResults { state.withLock { $0.results } }

  /// Reads the results about ten times a second: often enough for the pushes in flight, and cheap for the relay.
  func watch(_ relay: RelayRequests, until end: ContinuousClock.Instant) async throws {
    repeat {
      let results = try await PushResults(of: relay)
      state.withLock { $0.results = results }
      try await Task.sleep(until: min(end, .now + .milliseconds(100)))
    } while ContinuousClock.now < end
    let results = try await PushResults(of: relay)
    state.withLock { $0.results = results }
  }

  /// Waits until all pushes have ended.
  func settle(_ relay: RelayRequests) async throws {
    let end = ContinuousClock.now + .seconds(30)
    while ContinuousClock.now < end, state.withLock({ inFlight($0) }) > 0 {
      try await watch(relay, until: .now + .milliseconds(100))
    }
  }

  var faults: [BenchReport.Figure] {
    state.withLock {
      [
        .init("lost", "not ended", .count(UInt64(max(0, inFlight($0))))),
        .init("unsent", "not accepted", .count($0.results.unsent - before.unsent)),
        .init("repeated", "repeated", .count($0.results.repeated - before.repeated)),
        .init("refused", "refused messages", .count($0.refused)),
      ]
    }
  }

  var problems: [(text: String, times: UInt64)] {
    state.withLock { $0.problems.map { (text: $0.key, times: $0.value) } }.sorted { $0.times > $1.times }
  }
}
