// SPDX-License-Identifier: Apache-2.0
import Foundation
import RelayProtocol
import Testing

/// `make simulate` asks for more steps by `SIMULATION_STEPS`, and for others by `SIMULATION_SEED`.
@Suite(.serialized) struct SimulationTests {
  private static func number(_ name: String, _ otherwise: Int) -> Int {
    ProcessInfo.processInfo.environment[name].flatMap { Int($0) } ?? otherwise
  }

  /// After so many steps a world comes to its end, and another begins.
  private static let stepsOfACourse = 1_000
  private static let usualSteps = 2_000
  /// Enough for all to happen that can.
  private static let manySteps = 200_000

  @Test func `every invariant holds after each step`() async throws {
    let (steps, first) = (Self.number("SIMULATION_STEPS", Self.usualSteps), Self.number("SIMULATION_SEED", 1))
    let courses = try await onThread { try Courses(first: first, steps: steps, ofEach: Self.stepsOfACourse) }
    if let failed = courses.failed { Issue.record("\(failed)") }
    guard courses.failed == nil, steps >= Self.manySteps else { return }
    let tally = courses.tally
    for event in Tally.Event.allCases { #expect(tally[event] > 0, "\(event) never happened") }
    for name in Tally.names { #expect(tally.counts[name] != nil, "\(name) never happened") }
  }

  /// The kernel of a loaded machine may hand over late what a socket was given, so a course has some tries.
  @Test(arguments: 1...3) func `the same seed has the same course`(seed: Int) async throws {
    let differing = try await onThread { () -> String? in
      var known = try Self.transcript(seed)
      var differing: String?
      for _ in 0..<4 {
        let again = try Self.transcript(seed)
        guard known != again else { return nil }
        differing = zip(known, again).first { $0 != $1 }.map { "\($0)" } ?? "one is longer"
        known = again
      }
      return differing
    }
    #expect(differing == nil)
  }

  private static func transcript(_ seed: Int) throws -> [String] {
    try Course(seed: seed, steps: stepsOfACourse, isTranscribed: true).transcript?.lines ?? []
  }

  /// What another device of its user says at the same moment does not bring it back.
  @Test func `a device that is lost stays lost`() async throws {
    let (ann, bob) = (Slot(user: World.users[0], place: 0), Slot(user: World.users[1], place: 0))
    let (phone, watch) = (World.reporters[0], World.reporters[2])
    let actions: [Action] = [
      .connect(ann, acks: false, activity: .active), .connect(bob, acks: false, activity: .active),
      .ask(bob, .register(phone, Registration(token: 4))),
      .ask(bob, .focus(phone, false, .authorized, Stamp())),
      .race([
        Action.Asked(slot: ann, ask: .register(phone, Registration(token: 4))),
        Action.Asked(slot: bob, ask: .focus(watch, nil, .authorized, Stamp())),
      ]),
      .restart(after: .seconds(1)),
    ]
    let course = try await onThread { try Course(seed: 1, playing: actions) }
    #expect(course.failure == nil)
  }

  @Test(arguments: Fault.allCases) func `a planted fault is found`(fault: Fault) async throws {
    let found = try await onThread { () -> Violation? in
      for seed in 1...20 {
        let course = try Course(seed: seed, steps: Self.stepsOfACourse, fault: fault)
        if let failure = course.failure { return failure }
      }
      return nil
    }
    #expect(found.map { fault.invariants.contains($0.invariant) } == true, "\(found?.description ?? "nothing")")
  }
}

/// Courses of one seed after the other, until there are steps enough or one fails, of which there is the shortest then.
private struct Courses: Sendable {
  private(set) var failed: Course?
  private(set) var tally = Tally()

  init(first: Int, steps: Int, ofEach length: Int) throws {
    var (seed, left) = (first, steps)
    while left > 0, failed == nil {
      let course = try Course(seed: seed, steps: min(length, left))
      tally.add(course.tally)
      if course.failure != nil { failed = try course.shortened() }
      seed += 1
      left -= length
    }
  }
}

/// Runs what waits in every call on a thread that nobody else needs.
private func onThread<T: Sendable>(_ body: @escaping @Sendable () throws -> T) async throws -> T {
  try await withCheckedThrowingContinuation { continuation in
    let thread = Thread { continuation.resume(with: Result { try body() }) }
    thread.stackSize = 8 << 20
    thread.start()
  }
}
