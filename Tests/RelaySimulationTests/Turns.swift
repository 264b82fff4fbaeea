// SPDX-License-Identifier: Apache-2.0
import SeededRandom
import Synchronization

/// The waiting steps of a relay that does one thing at a time: transactions, reads, and steps of the push worker. Any
/// thread may add a step. The thread that takes one chooses it at random with the seed.
final class Turns: TaskExecutor {
  enum Kind: CaseIterable {
    case store, worker
  }

  private struct Waiting {
    var works: [Kind: [@Sendable () -> Void]] = [:]
    var random: SeededGenerator
  }

  private let waiting: Mutex<Waiting>

  init(seed: Int) { waiting = Mutex(Waiting(random: SeededGenerator(seed: seed))) }

  func add(_ kind: Kind, _ work: @escaping @Sendable () -> Void) {
    waiting.withLock { $0.works[kind, default: []].append(work) }
  }

  func enqueue(_ job: consuming ExecutorJob) {
    let job = UnownedJob(job)
    add(.worker) { [self] in job.runSynchronously(on: asUnownedTaskExecutor()) }
  }

  /// Runs the first step of a random kind. Returns false if none waits.
  func take() -> Bool {
    let work = waiting.withLock { waiting -> (@Sendable () -> Void)? in
      let kinds = Kind.allCases.filter { waiting.works[$0]?.isEmpty == false }
      guard !kinds.isEmpty else { return nil }
      return waiting.works[waiting.random.one(of: kinds)]?.removeFirst()
    }
    work?()
    return work != nil
  }
}
