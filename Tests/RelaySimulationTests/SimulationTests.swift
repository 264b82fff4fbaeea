// SPDX-License-Identifier: Apache-2.0
import Foundation
import Testing

/// Runs when `SIMULATION_STEPS` asks for steps, as `make simulate` does; `SIMULATION_SEED` asks for other ones.
@Suite(.serialized, .enabled(if: ProcessInfo.processInfo.environment["SIMULATION_STEPS"] != nil))
struct SimulationTests {
  private static func number(_ name: String, _ otherwise: Int) -> Int {
    ProcessInfo.processInfo.environment[name].flatMap { Int($0) } ?? otherwise
  }

  /// After so many steps a world comes to its end, and another begins.
  private static let stepsOfACourse = 1_000

  @Test func `every invariant holds after each step`() async throws {
    let steps = Self.number("SIMULATION_STEPS", 20_000)
    let first = Self.number("SIMULATION_SEED", 1)
    let (failed, tally) = try await onThread { () -> (Course?, Tally) in
      var (seed, done, tally) = (first, 0, Tally())
      while done < steps {
        let course = try Course(seed: seed, steps: min(Self.stepsOfACourse, steps - done))
        if course.failure != nil { return (try course.shortened(), tally) }
        tally.add(course.tally)
        done += course.steps
        seed += 1
      }
      return (nil, tally)
    }
    if let failed { Issue.record("\(failed)") }
    // Fewer steps need not have seen everything.
    guard failed == nil, steps >= 20_000 else { return }
    for event in Tally.Event.allCases { #expect(tally[event] > 0, "\(event) never happened") }
  }

  @Test(arguments: Fault.allCases) func `a planted fault is found`(fault: Fault) async throws {
    let found = try await onThread { () -> Violation? in
      for seed in 1...20 {
        let course = try Course(seed: seed, steps: Self.stepsOfACourse, fault: fault)
        if let failure = course.failure { return failure }
      }
      return nil
    }
    #expect(found != nil)
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
