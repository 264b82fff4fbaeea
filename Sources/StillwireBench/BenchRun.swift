// SPDX-License-Identifier: Apache-2.0
import ArgumentParser
import CLoad
import Foundation

/// One run of a load: its sessions, and the processor time and memory of the relay and the generator.
final class BenchRun {
  let load: Load
  let target: BenchTarget
  /// The name of this run. It is part of the names of its rooms and users.
  let name: String
  private var hellos: Hellos
  private let pid: Int32?

  /// The timeout of each wait for the relay.
  static let patience = Duration.seconds(60)

  /// Throws ``BenchError``.
  init(_ target: BenchTarget, sessions: Int) async throws {
    // Other open files: the standard streams, the poll and a database.
    let reserve = 64
    var limit = rlimit()
    getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit)
    limit.rlim_cur = limit.rlim_max
    setrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit)
    guard sessions + reserve <= limit.rlim_cur else {
      throw BenchError(
        "\(sessions) sessions need more than the \(limit.rlim_cur) open files that a process may have here")
    }
    self.target = target
    name = String(UInt32.random(in: 0..<2_176_782_336), radix: 36)
    hellos = try await Hellos(target, run: name)
    load = try Load(address: target.address, port: target.port)
    pid = target.pid ?? (load.isLocal ? ServerUse.listener(on: target.port) : nil)
  }

  /// Adds rooms whose names begin with `prefix`. Returns their numbers.
  func addRooms(_ count: Int, prefix: String) -> Range<UInt32> {
    let numbers = (0..<count).map { load.addRoom("\(prefix)-\(name)-\($0)") }
    return numbers[0]..<numbers[0] + UInt32(count)
  }

  /// Adds sessions with one user each, and distributes them over the rooms.
  func addSessions(_ count: Int, in rooms: Range<UInt32>) async throws -> Range<UInt32> {
    let first = load.sessions
    for index in 0..<count {
      load.addSession(hello: try await hellos.next(), room: rooms.lowerBound + UInt32(index % rooms.count))
    }
    return first..<load.sessions
  }

  /// Opens sessions and waits until they have joined their rooms. Throws ``BenchError`` if no session opened, or if the
  /// relay did not answer all of them.
  func open(_ range: Range<UInt32>) throws {
    let open = load.counts.open
    load.open(range, rate: target.connectRate)
    let patience = .seconds(Double(range.count) / target.connectRate) + Self.patience
    let hasAnswered = load.run(until: LOAD_OPENED, atMost: patience)
    let opened = load.counts.open - min(open, load.counts.open)
    guard opened > 0 else {
      throw BenchError("no session could be opened: " + (load.problems.first?.text ?? "the relay does not answer"))
    }
    guard hasAnswered else {
      throw BenchError("after \(Int(patience.seconds)) s only \(opened) of \(range.count) sessions are open")
    }
  }

  /// Returns the present use of the relay and the generator. The relay's is `nil` if its process cannot be read.
  func use() -> Use { Use(time: ContinuousClock.now, server: pid.flatMap { ServerUse(of: $0) }, own: ServerUse.own) }

  struct Use {
    let time: ContinuousClock.Instant
    let server: ServerUse?
    let own: Double
  }

  /// Publishes for `warmUp` seconds, then measures for `seconds`. Then waits for the messages in flight.
  /// - Returns: The counts and the use at the begin and at the end of the measurement.
  func publish(
    _ publish: load_publish_t, warmUp: Double, seconds: Double
  ) -> (before: load_counts_t, used: Use, after: load_counts_t, use: Use) {
    load.publish(publish)
    load.run(atMost: .seconds(warmUp))
    let (before, used) = (load.counts, use())
    load.measure(true)
    load.run(atMost: .seconds(seconds))
    let (after, use) = (load.counts, use())
    load.measure(false)
    load.stopPublishing()
    load.run(until: LOAD_SETTLED, atMost: .seconds(10))
    return (before, used, after, use)
  }

  /// Throws ``BenchError`` if the relay's rate limit would determine the result.
  func checkSendRate(each rate: Double?) throws {
    guard let limit = load.welcome?.limits?.sendRate, limit > 0 else { return }
    guard let rate, rate <= limit else {
      throw BenchError(
        """
        the relay allows each session \(limit.formatted()) sends a second: start it with --limits-send-rate 0, or \
        give a lower --rate or more --publishers
        """)
    }
  }

  func report(_ load: String, _ shape: String) -> BenchReport {
    BenchReport(load: load, server: self.load.welcome?.server ?? target.address, shape: shape)
  }

  /// Adds the relay's use between two points in time, in all and for each of `each.count` events.
  func addServerUse(
    to report: inout BenchReport, from: Use, to: Use, each: (key: String, label: String, count: UInt64)?,
    key: String = "relay", title: String = "relay"
  ) {
    guard let before = from.server, let after = to.server else { return }
    let spent = after.processor - before.processor
    var figures: [BenchReport.Figure] = [.init("processor", "processor", .share(spent / (to.time - from.time).seconds))]
    if let each, each.count > 0 { figures.append(.init(each.key, each.label, .seconds(spent / Double(each.count)))) }
    figures.append(.init("memory", "memory", .bytes(after.memory)))
    report.add(key, title, figures)
  }

  /// Adds the use of the generator.
  func addOwnUse(to report: inout BenchReport, from: Use, to: Use) {
    if from.server == nil || to.server == nil {
      report.notes.append("the relay's process is unknown; on its machine, pass --pid")
    }
    let share = (to.own - from.own) / (to.time - from.time).seconds
    report.add("generator", "generator", [.init("processor", "processor", .share(share))])
    if share > 0.95 { report.notes.append("the generator used a whole processor: the relay may be faster") }
  }

  /// Adds the use of the relay and the generator.
  func addUse(to report: inout BenchReport, from: Use, to: Use, each: (key: String, label: String, count: UInt64)?) {
    addServerUse(to: &report, from: from, to: to, each: each)
    addOwnUse(to: &report, from: from, to: to)
  }

  /// Adds the faults and prints the report. Throws an exit status of 1 if there are faults.
  func finish(_ report: BenchReport, lost: UInt64, more: [BenchReport.Figure] = []) throws {
    var report = report
    let counts = load.counts
    report.faults =
      [
        .init("lost", "lost", .count(lost)), .init("gaps", "gaps", .count(counts.gaps + counts.skipped)),
        .init("duplicates", "duplicates", .count(counts.duplicates)),
        .init("altered", "altered", .count(counts.altered)), .init("refused", "refused", .count(counts.refused)),
        .init("failed", "failed to open", .count(counts.failed)), .init("closed", "closed", .count(counts.closed)),
      ] + more
    report.problems = load.problems
    print(target.json ? report.json : report.table)
    guard report.isClean else { throw ExitCode.failure }
  }
}
