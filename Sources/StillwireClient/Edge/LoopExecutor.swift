// SPDX-License-Identifier: Apache-2.0
// Runs an actor on an event loop of NIO. NIO's own executor, `EventLoop.executor`, needs iOS 17.
import NIOCore

/// The executor of an actor that runs on an event loop. The actor must keep it: a `UnownedSerialExecutor` does not.
final class LoopExecutor: SerialExecutor {
  private let loop: any EventLoop

  init(_ loop: any EventLoop) { self.loop = loop }

  #if canImport(Darwin)
    // `ExecutorJob` needs iOS 17.
    func enqueue(_ job: UnownedJob) { run(job) }
  #else
    func enqueue(_ job: consuming ExecutorJob) { run(UnownedJob(job)) }
  #endif

  private func run(_ job: UnownedJob) {
    loop.execute { job.runSynchronously(on: self.asUnownedSerialExecutor()) }
  }

  func asUnownedSerialExecutor() -> UnownedSerialExecutor { UnownedSerialExecutor(ordinary: self) }

  /// Traps on another thread than the loop's. The runtime calls it from iOS 18 on.
  func checkIsolated() { loop.preconditionInEventLoop() }
}
