// SPDX-License-Identifier: Apache-2.0
import CLoad
import Foundation

/// One run of a load: its sessions, and the processor time and memory of the relay and the generator.
final class BenchRun {
  let load: Load
  let target: BenchTarget
  /// The name of this run. It is part of the names of its rooms and users.
  let name: String
  private var hellos: Hellos

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
    name = Self.randomName()
    hellos = try await Hellos(target, run: name)
    load = try Load(target.relay)
  }

  /// Makes the name of a run.
  static func randomName() -> String { String(UInt32.random(in: 0..<2_176_782_336), radix: 36) }

  /// The prefix of the names of users, which a number follows.
  var userPrefix: String { Hellos.userPrefix(of: name) }

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

  /// Returns the present use of the relay and the generator.
  func use() -> Use { Use(of: load.process) }

  /// Publishes for `warmUp` seconds, then measures for `seconds`. Then waits for the messages in flight.
  /// - Returns: The counts and the use at the begin and at the end of the measurement.
  func publish(
    _ publish: load_publish_t, warmUp: Double, seconds: Double
  ) -> (before: load_counts_t, used: Use, after: load_counts_t, use: Use) {
    load.publish(publish)
    let measured = measure(warmUp: warmUp, seconds: seconds)
    load.stopPublishing()
    load.run(until: LOAD_SETTLED, atMost: .seconds(10))
    return measured
  }

  /// Runs for `warmUp` seconds, then measures for `seconds`.
  /// - Returns: The counts and the use at the begin and at the end of the measurement.
  func measure(
    warmUp: Double, seconds: Double
  ) -> (before: load_counts_t, used: Use, after: load_counts_t, use: Use) {
    load.run(atMost: .seconds(warmUp))
    let (before, used) = (load.counts, use())
    load.measure(true)
    load.run(atMost: .seconds(seconds))
    let (after, use) = (load.counts, use())
    load.measure(false)
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
    BenchReport(load: load, server: self.load.welcome?.server ?? target.relay.address, shape: shape)
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
    try target.relay.finish(report)
  }
}
