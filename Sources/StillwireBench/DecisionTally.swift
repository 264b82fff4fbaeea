// SPDX-License-Identifier: Apache-2.0
import CLoad
import Synchronization

/// The results of the load `decisions`, which all its connections count.
final class DecisionTally: Sendable {
  enum Fault: String, CaseIterable {
    case unanswered, refused, wrong
  }

  private struct State {
    var isMeasuring = false
    var answers: UInt64 = 0
    var faults: [Fault: UInt64] = [:]
    var problems: [String: UInt64] = [:]
    let latency: UnsafeMutablePointer<load_histogram_t>
  }

  private let state: Mutex<State>
  private let requests = Atomic(0)

  /// The maximum number of different texts of problems. Further ones are counted together.
  private static let maxProblems = 16

  init() {
    let latency = UnsafeMutablePointer<load_histogram_t>.allocate(capacity: 1)
    latency.initialize(to: load_histogram_t())
    state = Mutex(State(latency: latency))
  }

  deinit { state.withLock { $0.latency.deallocate() } }

  /// Returns the number of the next request, from 0.
  func nextRequest() -> Int { requests.wrappingAdd(1, ordering: .relaxed).oldValue }

  /// Begins or ends the measurement. Correct answers at other times are not counted, but faults are.
  func measure(_ isOn: Bool) { state.withLock { $0.isMeasuring = isOn } }

  /// Counts a correct answer.
  func count(_ latency: Duration) {
    state.withLock {
      guard $0.isMeasuring else { return }
      $0.answers += 1
      load_histogram_add($0.latency, UInt64(max(0, latency / .nanoseconds(1))))
    }
  }

  func count(_ fault: Fault, _ problem: String) {
    state.withLock {
      $0.faults[fault, default: 0] += 1
      let isCounted = $0.problems[problem] != nil || $0.problems.count < Self.maxProblems
      $0.problems[isCounted ? problem : "other problems", default: 0] += 1
    }
  }

  /// The number of correct answers in the measurement.
  var answers: UInt64 { state.withLock { $0.answers } }
  var latency: Quantiles { state.withLock { Quantiles($0.latency) } }
  func faults(_ fault: Fault) -> UInt64 { state.withLock { $0.faults[fault] ?? 0 } }

  /// The texts of the problems with their counts, the most frequent one first.
  var problems: [(text: String, times: UInt64)] {
    state.withLock { $0.problems.map { (text: $0.key, times: $0.value) } }.sorted {
      ($1.times, $0.text) < ($0.times, $1.text)
    }
  }
}
