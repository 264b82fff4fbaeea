// SPDX-License-Identifier: Apache-2.0
import ServiceLifecycle
import Synchronization
public import UnixSignals

/// The request to end the process. It is kept, so that a signal counts at any moment of a run: also before a server
/// exists, and while a node changes its role.
public final class EndRequest: Sendable {
  private struct State {
    var isMade = false
    var waiting: [Int: CheckedContinuation<Void, Never>] = [:]
    var count = 0
  }

  private let state = Mutex(State())

  public init() {}

  public var isMade: Bool { state.withLock { $0.isMade } }

  public func make() {
    let waiting = state.withLock { state in
      state.isMade = true
      defer { state.waiting = [:] }
      return state.waiting
    }
    for continuation in waiting.values { continuation.resume() }
  }

  /// Makes the request at the first of the signals, until the task is cancelled.
  public func make(at signals: UnixSignalsSequence) async { for await _ in signals { make() } }

  /// Waits for the request, or until the task is cancelled.
  public func wait() async {
    let id = state.withLock { state in
      state.count += 1
      return state.count
    }
    await withTaskCancellationHandler {
      await withCheckedContinuation { continuation in
        let isOver = state.withLock { state in
          guard !state.isMade, !Task.isCancelled else { return true }
          state.waiting[id] = continuation
          return false
        }
        if isOver { continuation.resume() }
      }
    } onCancel: {
      state.withLock { $0.waiting.removeValue(forKey: id) }?.resume()
    }
  }

  /// A service that begins the graceful shutdown of its group at the request.
  var service: ServiceGroupConfiguration.ServiceConfiguration {
    .init(service: Waiting(request: self), successTerminationBehavior: .gracefullyShutdownGroup)
  }

  private struct Waiting: Service {
    let request: EndRequest

    func run() async throws { await cancelWhenGracefulShutdown { await request.wait() } }
  }
}
