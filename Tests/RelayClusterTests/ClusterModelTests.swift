// SPDX-License-Identifier: Apache-2.0
import Testing

@Suite struct ClusterModelTests {
  /// Runs one seed. Returns the violation, or `nil`.
  private func violation(seed: Int, steps: Int, _ options: ClusterModel.Options) -> Violation? {
    let model = ClusterModel(seed: seed, options)
    do {
      try model.run(steps: steps)
      return nil
    } catch {
      return error as? Violation ?? Violation("\(error)")
    }
  }

  @Test(arguments: 1...12) func `no acknowledged row is lost or doubled`(_ seed: Int) {
    var options = ClusterModel.Options()
    options.hasStaleRecords = seed % 3 == 0
    let model = ClusterModel(seed: seed, nodes: 3 + seed % 2 * 2, options)
    do {
      try model.run(steps: 100_000)
    } catch {
      Issue.record("seed \(seed), at \(model.now): \(error)")
    }
    print("seed \(seed):", model.now, model.counts.sorted { $0.key < $1.key }.map { "\($0.key) \($0.value)" })
    for event in [
      "acknowledged", "takeover", "crash", "pause", "loaded", "rolled back", "refused read", "cut off", "step-down",
    ] {
      #expect(model.counts[event, default: 0] > 0, "seed \(seed) has no \(event)")
    }
  }

  @Test(arguments: 1...20) func `nodes that contain more than the log stop`(_ seed: Int) {
    var options = ClusterModel.Options()
    options.losesTail = true
    if let violation = violation(seed: seed, steps: 50_000, options) { Issue.record("seed \(seed): \(violation)") }
  }

  @Test(arguments: Fault.allCases) func `a planted fault is found`(_ fault: Fault) {
    var options = ClusterModel.Options()
    options.fault = fault
    options.hasStaleRecords = fault == .appliesLowerTerm
    for seed in 1...30 {
      guard let violation = violation(seed: seed, steps: 100_000, options) else { continue }
      print("\(fault): seed \(seed): \(violation)")
      if violation.description.contains(fault.symptom) { return }
    }
    Issue.record("no seed finds \(fault)")
  }
}
