// SPDX-License-Identifier: Apache-2.0
import RelayCluster
import Testing

@testable import RelayNATS

/// The action of a reader after each happening.
@Suite struct ConsumerStepTests {
  private enum Happening: Sendable {
    case attempted(Bool), received, compared(Bool)
  }

  private struct Row: Sendable {
    /// Milliseconds after the start.
    let at: Int
    let happening: Happening?
    let action: ConsumerStep.Action

    init(_ at: Int, _ happening: Happening? = nil, gives action: ConsumerStep.Action) {
      self.at = at
      self.happening = happening
      self.action = action
    }
  }

  private static let stories: [[Row]] = [
    // A consumer is made at once. It is compared with the log after a second of silence.
    [
      Row(0, gives: .read(attempts: true)), Row(5, gives: .read(attempts: false)),
      Row(9, .attempted(true), gives: .receive),
      Row(900, .received, gives: .receive), Row(1_899, gives: .receive), Row(1_900, gives: .compare),
      Row(1_910, .compared(true), gives: .receive),
      Row(2_909, gives: .receive), Row(2_910, gives: .compare),
    ],
    // A lost consumer is replaced at once.
    [
      Row(0, gives: .read(attempts: true)), Row(9, .attempted(true), gives: .receive), Row(1_009, gives: .compare),
      Row(1_010, .compared(false), gives: .read(attempts: true)), Row(1_020, .attempted(true), gives: .receive),
    ],
    // The pause between two attempts is constant, and the reader reads meanwhile.
    [
      Row(0, gives: .read(attempts: true)), Row(1_000, .attempted(false), gives: .read(attempts: false)),
      Row(1_499, gives: .read(attempts: false)), Row(1_500, gives: .read(attempts: true)),
      Row(2_500, .attempted(false), gives: .read(attempts: false)), Row(2_999, gives: .read(attempts: false)),
      Row(3_000, gives: .read(attempts: true)), Row(3_010, .attempted(true), gives: .receive),
    ],
    // A record that arrives late does not end an attempt.
    [Row(0, gives: .read(attempts: true)), Row(5, .received, gives: .read(attempts: false))],
  ]

  @Test(arguments: stories.indices) func `the happenings decide how the reader reads`(_ index: Int) {
    let start = ContinuousClock.now
    var step = ConsumerStep(at: start)
    for row in Self.stories[index] {
      let now = start + .milliseconds(row.at)
      switch row.happening {
      case .attempted(let hasConsumer): step.attempted(hasConsumer: hasConsumer, at: now)
      case .received: step.received(at: now)
      case .compared(let isComplete): step.compared(isComplete: isComplete, at: now)
      case nil: break
      }
      #expect(step.next(at: now) == row.action, "story \(index) at \(row.at)")
    }
  }
}
