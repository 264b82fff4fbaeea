// SPDX-License-Identifier: Apache-2.0
import Foundation

/// A world from its beginning to its end: actions, and what they have come to.
struct Course: Sendable {
  let seed: Int
  private(set) var actions: [Action] = []
  private(set) var failure: Violation?
  private(set) var steps = 0
  private(set) var tally = Tally()

  /// Actions by chance, until enough has happened or something is wrong.
  init(seed: Int, steps: Int, fault: Fault? = nil) throws {
    self.seed = seed
    var source = ActionSource(seed: seed)
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
    let simulation = try Simulation(fault: fault)
    defer { simulation.close() }
    do {
      while let action = next(simulation) {
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
  }

  /// The fewest actions found that break the same invariant: parts are left out, then smaller ones, as long as what
  /// is left still fails (Zeller's delta debugging).
  /// - Parameter patience: Courses that may be played for it.
  func shortened(fault: Fault? = nil, patience: Int = 400) throws -> Course {
    var shortest = self
    var played = 0
    var size = max(1, actions.count / 2)
    while true {
      var start = 0
      var hasShrunk = false
      while start < shortest.actions.count, played < patience {
        var fewer = shortest.actions
        fewer.removeSubrange(start..<min(start + size, fewer.count))
        played += 1
        let course = try Course(seed: seed, playing: fewer, fault: fault)
        if course.failure?.invariant == failure?.invariant {
          shortest = course
          hasShrunk = true
        } else {
          start += size
        }
      }
      guard played < patience, size > 1 || hasShrunk else { return shortest }
      size = max(1, size / 2)
    }
  }
}

extension Course: CustomStringConvertible {
  var description: String {
    let failure = failure.map { "\($0)" } ?? "nothing is wrong"
    return "seed \(seed), \(actions.count) actions, \(steps) steps: \(failure)\n"
      + actions.enumerated().map { "  \($0 + 1). \($1)\n" }.joined()
  }
}
