// SPDX-License-Identifier: Apache-2.0
import Foundation

/// A world from its beginning to its end: actions, and what they have come to.
struct Course: Sendable {
  let seed: Int
  private(set) var actions: [Action] = []
  private(set) var failure: Violation?
  private(set) var steps = 0
  private(set) var tally = Tally()
  /// nil: none was asked for.
  private(set) var transcript: Transcript?

  /// Actions by chance, until enough has happened or something is wrong.
  /// - Parameter isTranscribed: Then there are no races either, of which the kernel decides who is heard first.
  init(seed: Int, steps: Int, fault: Fault? = nil, isTranscribed: Bool = false) throws {
    self.seed = seed
    transcript = isTranscribed ? Transcript() : nil
    var source = ActionSource(seed: seed, hasRaces: !isTranscribed)
    try play(fault) { simulation in
      guard simulation.steps < steps else { return nil }
      return source.next(in: simulation)
    }
  }

  /// These actions, as far as they are possible.
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
        // Also where it fails.
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

  /// The fewest actions found that break the same invariant: parts are left out, then smaller ones, as long as what
  /// is left still fails (Zeller's delta debugging).
  ///
  /// The order in which the kernel hands over what several clients say at once is not the seed's, so what does not
  /// fail is played again where it has a race.
  /// - Parameter patience: For how long.
  func shortened(fault: Fault? = nil, patience: Duration = .seconds(60)) throws -> Course {
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
        if let course = try repeated(fewer, times: tries, fault) {
          shortest = course
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

extension Course {
  /// These actions as often, until they break the same invariant; nil: they do not.
  private func repeated(_ actions: [Action], times: Int, _ fault: Fault?) throws -> Course? {
    for _ in 0..<times {
      let course = try Course(seed: seed, playing: actions, fault: fault)
      if course.failure?.invariant == failure?.invariant { return course }
    }
    return nil
  }
}

extension Course: CustomStringConvertible {
  var description: String {
    let failure = failure.map { "\($0)" } ?? "nothing is wrong"
    let races = actions.contains(where: \.isRace) ? " (of a race the kernel decides who is heard first)" : ""
    return "seed \(seed), \(actions.count) actions, \(steps) steps\(races): \(failure)\n"
      + actions.enumerated().map { "  \($0 + 1). \($1)\n" }.joined()
  }
}
