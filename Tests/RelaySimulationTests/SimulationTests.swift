// SPDX-License-Identifier: Apache-2.0
import Foundation
import RelayProtocol
import Testing

/// Runs the simulation. `make simulate` sets the number of steps with `SIMULATION_STEPS` and the first seed with
/// `SIMULATION_SEED`.
@Suite(.serialized) struct SimulationTests {
  private static func number(_ name: String, _ otherwise: Int) -> Int {
    ProcessInfo.processInfo.environment[name].flatMap { Int($0) } ?? otherwise
  }

  /// The number of steps of one run. The next run has another seed.
  private static let stepsOfRun = 1_000
  private static let usualSteps = 2_000
  /// The number of steps in which every counted event must occur.
  private static let manySteps = 200_000

  @Test func `every invariant holds after each step`() async throws {
    let (steps, first) = (Self.number("SIMULATION_STEPS", Self.usualSteps), Self.number("SIMULATION_SEED", 1))
    let runs = try await onThread { try SimulationRuns(first: first, steps: steps, ofEach: Self.stepsOfRun) }
    if let failed = runs.failed { Issue.record("\(failed)") }
    guard runs.failed == nil, steps >= Self.manySteps else { return }
    let tally = runs.tally
    for event in Tally.Event.allCases { #expect(tally[event] > 0, "\(event) never happened") }
    for name in Tally.names { #expect(tally.counts[name] != nil, "\(name) never happened") }
  }

  /// The test tries several times, because the kernel of a busy machine may deliver the bytes of a socket late.
  @Test(arguments: 1...3) func `the same seed gives the same run`(seed: Int) async throws {
    let differing = try await onThread { () -> String? in
      let first = try Self.transcript(seed)
      var known: Set = [first]
      var differing: String?
      for _ in 0..<9 {
        let again = try Self.transcript(seed)
        guard known.insert(again).inserted else { return nil }
        differing = zip(first, again).first { $0 != $1 }.map { "\($0)" } ?? "one is longer"
      }
      return differing
    }
    #expect(differing == nil)
  }

  private static func transcript(_ seed: Int) throws -> [String] {
    try SimulationRun(seed: seed, steps: stepsOfRun, isTranscribed: true).transcript?.lines ?? []
  }

  /// A report of another device of the user at the same moment must not restore the lost device.
  @Test func `a device that has lost its token stays deleted`() async throws {
    let (ann, bob) = (Slot(user: World.users[0], place: 0), Slot(user: World.users[1], place: 0))
    let (phone, watch) = (World.reporters[0], World.reporters[2])
    let actions: [Action] = [
      .connect(ann, acks: false, activity: .active), .connect(bob, acks: false, activity: .active),
      .request(bob, .register(phone, Registration(token: 4))),
      .request(bob, .focus(phone, false, .authorized, Stamp())),
      .race([
        Action.SlotRequest(slot: ann, request: .register(phone, Registration(token: 4))),
        Action.SlotRequest(slot: bob, request: .focus(watch, nil, .authorized, Stamp())),
      ]),
      .restart(after: .seconds(1)),
    ]
    let run = try await onThread { try SimulationRun(seed: 1, playing: actions) }
    #expect(run.failure == nil)
  }

  @Test(arguments: Fault.allCases) func `the simulation finds a planted fault`(fault: Fault) async throws {
    let found = try await onThread { () -> Violation? in
      for seed in fault.firstSeed..<fault.firstSeed + 100 {
        let run = try SimulationRun(seed: seed, steps: Self.stepsOfRun, fault: fault)
        if let failure = run.failure { return failure }
      }
      return nil
    }
    #expect(found.map { fault.invariants.contains($0.invariant) } == true, "\(found?.description ?? "nothing")")
  }
}

/// Runs with one seed after the other, until the number of steps is reached or one fails. The failed run is shortened.
private struct SimulationRuns: Sendable {
  private(set) var failed: SimulationRun?
  private(set) var tally = Tally()

  init(first: Int, steps: Int, ofEach length: Int) throws {
    var (seed, left) = (first, steps)
    while left > 0, failed == nil {
      let run = try SimulationRun(seed: seed, steps: min(length, left))
      tally.add(run.tally)
      if run.failure != nil { failed = try run.shortened() }
      seed += 1
      left -= length
    }
  }
}

/// Runs a blocking function on a thread of its own.
private func onThread<T: Sendable>(_ body: @escaping @Sendable () throws -> T) async throws -> T {
  try await withCheckedThrowingContinuation { continuation in
    let thread = Thread { continuation.resume(with: Result { try body() }) }
    thread.stackSize = 8 << 20
    thread.start()
  }
}
