// SPDX-License-Identifier: Apache-2.0
import Foundation

/// A run of the simulation: its actions and their result.
struct SimulationRun: Sendable {
  let seed: Int
  private(set) var actions: [Action] = []
  private(set) var failure: Violation?
  private(set) var steps = 0
  private(set) var tally = Tally()
  /// Is `nil` when no transcript was requested.
  private(set) var transcript: Transcript?

  /// Plays random actions, until the number of steps is reached or an invariant is violated.
  /// - Parameter isTranscribed: True for a transcript. The run then has no races, because the kernel decides their
  ///   order.
  init(seed: Int, steps: Int, fault: Fault? = nil, isTranscribed: Bool = false) throws {
    self.seed = seed
    transcript = isTranscribed ? Transcript() : nil
    var source = ActionSource(seed: seed, hasRaces: !isTranscribed)
    try play(fault) { simulation in
      guard simulation.steps < steps else { return nil }
      return source.next(in: simulation)
    }
  }

  /// Plays these actions, as far as they are possible.
  init(seed: Int, playing given: [Action], fault: Fault? = nil) throws {
    self.seed = seed
    var rest = given[...]
    try play(fault) { _ in rest.popFirst() }
  }

  private mutating func play(_ fault: Fault?, next: (Simulation) -> Action?) throws {
    let simulation = try Simulation(seed: seed, fault: fault)
    simulation.transcript = transcript
    defer { simulation.close() }
    do {
      while let action = next(simulation) {
        simulation.transcript?.add("\(action)", at: simulation.clock.now)
        // An action that throws is recorded as well.
        actions.append(action)
        if try !simulation.perform(action) { actions.removeLast() }
      }
      try simulation.endOfTime()
    } catch let violation as Violation {
      failure = violation
    } catch {
      failure = Violation(.answered, "\(error)")
    }
    steps = simulation.steps
    tally = simulation.audit.tally
    transcript = simulation.transcript
  }

  /// Returns the shortest list of actions that violates the same invariant, as far as it is found: ever smaller parts
  /// are left out, as long as the rest still fails (Zeller's delta debugging).
  ///
  /// The seed does not determine the order in which the kernel delivers concurrent requests. So a list with a race is
  /// played twice.
  /// - Parameter patience: The time limit.
  func shortened(fault: Fault? = nil, patience: Duration = .seconds(60)) throws -> SimulationRun {
    let end = ContinuousClock.now + patience
    var shortest = self
    var size = max(1, actions.count / 2)
    while true {
      var start = 0
      var hasShrunk = false
      while start < shortest.actions.count, ContinuousClock.now < end {
        var fewer = shortest.actions
        fewer.removeSubrange(start..<min(start + size, fewer.count))
        let tries = fewer.contains(where: \.isRace) ? 2 : 1
        if let run = try repeated(fewer, times: tries, fault) {
          shortest = run
          hasShrunk = true
        } else {
          start += size
        }
      }
      guard ContinuousClock.now < end, size > 1 || hasShrunk else { return shortest }
      size = max(1, size / 2)
    }
  }
}

extension SimulationRun {
  /// Plays these actions until they violate the same invariant, at most `times` times. Returns `nil` if they do not.
  private func repeated(_ actions: [Action], times: Int, _ fault: Fault?) throws -> SimulationRun? {
    for _ in 0..<times {
      let run = try SimulationRun(seed: seed, playing: actions, fault: fault)
      if run.failure?.invariant == failure?.invariant { return run }
    }
    return nil
  }
}

extension SimulationRun: CustomStringConvertible {
  var description: String {
    let failure = failure.map { "\($0)" } ?? "no failure"
    let races = actions.contains(where: \.isRace) ? " (the kernel decides the order of a race)" : ""
    return "seed \(seed), \(actions.count) actions, \(steps) steps\(races): \(failure)\n"
      + actions.enumerated().map { "  \($0 + 1). \($1)\n" }.joined()
  }
}
