// SPDX-License-Identifier: Apache-2.0
import Foundation
import RelayProtocol
import Synchronization

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

/// The answer to an HTTP request.
struct HTTPAnswer: Equatable, Sendable {
  var status: Int
  var tag: String?
  var body: [UInt8]
}

/// Sends HTTP requests with `URLSession`, which needs no further dependency in an extension.
enum HTTPExchange {
  /// Maximum size of an answer in bytes. The category registry is the largest answer.
  static let maxAnswer = 1 << 20

  /// Sends a request, and returns its answer. Throws ``StillwireError``, or `CancellationError` if the task is
  /// cancelled. A cancelled request may have taken effect.
  /// - Parameter patience: Timeout of the complete answer.
  static func answer(to request: URLRequest, patience: Duration) async throws -> HTTPAnswer {
    let call = HTTPCall(maxSize: maxAnswer, patience: patience.seconds)
    return try await withTaskCancellationHandler {
      try await withCheckedThrowingContinuation { call.start(request, $0) }
    } onCancel: {
      call.cancel()
    }
  }
}

/// A request in progress. It counts the bytes of the answer, so that a server cannot exhaust the memory.
private final class HTTPCall: NSObject, URLSessionDataDelegate, Sendable {
  private struct State {
    var answer: CheckedContinuation<HTTPAnswer, any Error>?
    var task: URLSessionDataTask?
    var status = 0
    var tag: String?
    var body: [UInt8] = []
    var isCancelled = false
  }

  private let maxSize: Int
  private let patience: TimeInterval
  private let state = Mutex(State())

  init(maxSize: Int, patience: TimeInterval) {
    self.maxSize = maxSize
    self.patience = patience
  }

  func start(_ request: URLRequest, _ answer: CheckedContinuation<HTTPAnswer, any Error>) {
    let configuration = URLSessionConfiguration.ephemeral
    configuration.timeoutIntervalForRequest = patience
    configuration.timeoutIntervalForResource = patience
    let session = URLSession(configuration: configuration, delegate: self, delegateQueue: nil)
    let task = session.dataTask(with: request)
    let isCancelled = state.withLock {
      $0.answer = answer
      $0.task = task
      return $0.isCancelled
    }
    task.resume()
    // The session retains its delegate, and is released after the task.
    session.finishTasksAndInvalidate()
    if isCancelled { task.cancel() }
  }

  func cancel() {
    let task = state.withLock {
      $0.isCancelled = true
      return $0.task
    }
    task?.cancel()
  }

  func urlSession(
    _ session: URLSession, dataTask: URLSessionDataTask, didReceive response: URLResponse,
    completionHandler: @escaping (URLSession.ResponseDisposition) -> Void
  ) {
    let answer = response as? HTTPURLResponse
    state.withLock {
      $0.status = answer?.statusCode ?? 0
      $0.tag = answer?.value(forHTTPHeaderField: "ETag")
    }
    completionHandler(.allow)
  }

  func urlSession(_ session: URLSession, dataTask: URLSessionDataTask, didReceive data: Data) {
    let isTooLarge = state.withLock {
      guard $0.body.count + data.count <= maxSize else { return true }
      $0.body += data
      return false
    }
    if isTooLarge { dataTask.cancel() }
  }

  /// Refuses redirects, because a request with a token or a report must reach only the configured relay.
  func urlSession(
    _ session: URLSession, task: URLSessionTask, willPerformHTTPRedirection response: HTTPURLResponse,
    newRequest request: URLRequest, completionHandler: @escaping (URLRequest?) -> Void
  ) {
    completionHandler(nil)
  }

  func urlSession(_ session: URLSession, task: URLSessionTask, didCompleteWithError error: (any Error)?) {
    let (continuation, result): (CheckedContinuation<HTTPAnswer, any Error>?, Result<HTTPAnswer, any Error>) =
      state.withLock { state in
        defer { state = State() }
        if state.isCancelled { return (state.answer, .failure(CancellationError())) }
        guard error == nil else {
          return (state.answer, .failure(StillwireError(.unreachable, "the relay did not answer", isTemporary: true)))
        }
        return (state.answer, .success(HTTPAnswer(status: state.status, tag: state.tag, body: state.body)))
      }
    continuation?.resume(with: result)
  }
}
