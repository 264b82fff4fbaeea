// SPDX-License-Identifier: Apache-2.0
import Foundation
import RelayProtocol
import Synchronization
import Testing

/// `SIMULATION_STEPS` asks for more steps than `make test` has, and `SIMULATION_SEED` for other ones.
@Suite(.serialized) struct SimulationTests {
  private static func number(_ name: String, _ otherwise: Int) -> Int {
    ProcessInfo.processInfo.environment[name].flatMap { Int($0) } ?? otherwise
  }

  /// After so many steps a world comes to its end, and another begins.
  private static let stepsOfACourse = 1_000
  private static let usualSteps = 20_000
  /// Enough for all to happen that can.
  private static let manySteps = 100_000

  @Test func `every invariant holds after each step`() async throws {
    let steps = Self.number("SIMULATION_STEPS", Self.usualSteps)
    let courses = Courses(first: Self.number("SIMULATION_SEED", 1), steps: steps)
    try await courses.play(steps: Self.stepsOfACourse)
    if let failed = courses.failed { Issue.record("\(failed)") }
    guard courses.failed == nil, steps >= Self.manySteps else { return }
    let tally = courses.tally
    for event in Tally.Event.allCases { #expect(tally[event] > 0, "\(event) never happened") }
    for name in Tally.names { #expect(tally.counts[name] != nil, "\(name) never happened") }
  }

  @Test(arguments: 1...3) func `the same seed has the same course`(seed: Int) async throws {
    let transcripts = try await onThread {
      try (0..<2).map { _ in
        try Course(seed: seed, steps: Self.stepsOfACourse, isTranscribed: true).transcript?.lines ?? []
      }
    }
    let differing = zip(transcripts[0], transcripts[1]).enumerated().first { $1.0 != $1.1 }
    // Where several users' holds end at once, tasks of the relay begin on threads that the seed does not order.
    withKnownIssue(isIntermittent: true) {
      #expect(differing == nil, "\(differing.map { "\($0.offset): \($0.element)" } ?? "")")
      #expect(transcripts[0].count == transcripts[1].count)
    }
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

/// Courses of one seed after the other, some at the same time, until there are steps enough or one fails.
private final class Courses: Sendable {
  private struct State {
    var next: Int
    var left: Int
    var failed: Course?
    var tally = Tally()
  }

  private let state: Mutex<State>

  init(first: Int, steps: Int) { state = Mutex(State(next: first, left: steps)) }

  var failed: Course? { state.withLock(\.failed) }
  var tally: Tally { state.withLock(\.tally) }

  func play(steps: Int) async throws {
    try await withThrowingTaskGroup { threads in
      for _ in 0..<max(2, ProcessInfo.processInfo.activeProcessorCount) {
        threads.addTask { try await onThread { try self.playOn(steps) } }
      }
      try await threads.waitForAll()
    }
  }

  private func playOn(_ steps: Int) throws {
    while let (seed, steps) = take(steps) {
      let course = try Course(seed: seed, steps: steps)
      state.withLock { $0.tally.add(course.tally) }
      guard course.failure != nil, failed == nil else { continue }
      let isFirst = state.withLock { state in
        state.left = 0
        defer { state.failed = state.failed ?? course }
        return state.failed == nil
      }
      guard isFirst else { return }
      let shortest = try course.shortened()
      state.withLock { $0.failed = shortest }
    }
  }

  private func take(_ steps: Int) -> (seed: Int, steps: Int)? {
    state.withLock { state in
      guard state.left > 0 else { return nil }
      defer {
        state.next += 1
        state.left -= steps
      }
      return (state.next, min(steps, state.left))
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
