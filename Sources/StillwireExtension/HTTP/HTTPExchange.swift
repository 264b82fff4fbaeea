// SPDX-License-Identifier: Apache-2.0
import Foundation
import RelayProtocol

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

/// The answer to an HTTP request.
struct HTTPAnswer: Equatable, Sendable {
  var status: Int
  var tag: String?
  /// The URL of the leader that a standby node names.
  var leader: String?
  var body: [UInt8]
}

/// Sends HTTP requests with `URLSession`, which needs no further dependency in an extension.
enum HTTPExchange {
  /// Maximum size of an answer in bytes. The category registry is the largest answer.
  static let maxAnswer = 1 << 20

  private static let start = ContinuousClock.now

  /// Sends a request to the addresses in turn until one answers as the leader, and returns the answer. Sends it to each
  /// address at most once. The relay must accept the request twice, because a node without an answer may have received
  /// it.
  /// - Parameters:
  ///   - shared: The addresses, and the leader that has answered an earlier request. It is first.
  ///   - patience: Timeout of the complete answer of each address.
  ///   - request: Makes the request to an address.
  static func answer(
    from shared: Locked<AddressBook>, patience: Duration, to request: (RelayAddress) -> URLRequest
  ) async throws -> HTTPAnswer {
    var book = shared.current
    defer { shared.withLock { $0 = book } }
    book.beginRound()
    while true {
      do {
        let answer = try await answer(to: request(book.address), patience: patience)
        guard answer.mayBeStandby else {
          book.succeeded()
          return answer
        }
        let isStandby = answer.status == 503
        guard book.selectNext(leader: answer.leader, isStandby: isStandby, at: start.duration(to: .now)) else {
          return answer
        }
      } catch let error as StillwireError where error.code == .unreachable {
        let now = start.duration(to: .now)
        book.avoid(at: now)
        guard book.selectNext(leader: nil, at: now) else { throw error }
      }
    }
  }

  /// Sends a request, and returns its answer. Throws ``StillwireError``, or `CancellationError` if the task is
  /// cancelled. A cancelled request may have taken effect.
  /// - Parameters:
  ///   - patience: Timeout of the complete answer.
  ///   - maxSize: Maximum size of the answer in bytes. A longer answer is `too_large`.
  ///   - redirects: The redirects to follow.
  static func answer(
    to request: URLRequest, patience: Duration, maxSize: Int = maxAnswer, redirects: HTTPRedirects = .none
  ) async throws -> HTTPAnswer {
    let call = HTTPCall(maxSize: maxSize, patience: patience.seconds, redirects: redirects)
    return try await withTaskCancellationHandler {
      try await withCheckedThrowingContinuation { call.start(request, $0) }
    } onCancel: {
      call.cancel()
    }
  }
}

/// The redirects that a request follows.
enum HTTPRedirects {
  /// No redirects, because a request with a token or a report must reach only the configured relay.
  case none
  /// Redirects to https URLs, for files without a credential.
  case secure
}

/// A request in progress. It counts the bytes of the answer, so that a server cannot exhaust the memory.
private final class HTTPCall: NSObject, URLSessionDataDelegate, Sendable {
  private struct State {
    var answer: CheckedContinuation<HTTPAnswer, any Error>?
    var task: URLSessionDataTask?
    var status = 0
    var tag: String?
    var leader: String?
    var body: [UInt8] = []
    var isCancelled = false
    var isTooLarge = false
  }

  private let maxSize: Int
  private let patience: TimeInterval
  private let redirects: HTTPRedirects
  private let state = Locked(State())

  init(maxSize: Int, patience: TimeInterval, redirects: HTTPRedirects) {
    self.maxSize = maxSize
    self.patience = patience
    self.redirects = redirects
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
    let isTooLarge = state.withLock {
      $0.status = answer?.statusCode ?? 0
      $0.tag = answer?.value(forHTTPHeaderField: "ETag")
      $0.leader = answer?.value(forHTTPHeaderField: leaderHeader)
      // Is -1 if the answer does not state its size.
      $0.isTooLarge = response.expectedContentLength > maxSize
      return $0.isTooLarge
    }
    completionHandler(isTooLarge ? .cancel : .allow)
  }

  func urlSession(_ session: URLSession, dataTask: URLSessionDataTask, didReceive data: Data) {
    let isTooLarge = state.withLock {
      $0.isTooLarge = $0.isTooLarge || $0.body.count + data.count > maxSize
      if !$0.isTooLarge { $0.body += data }
      return $0.isTooLarge
    }
    if isTooLarge { dataTask.cancel() }
  }

  func urlSession(
    _ session: URLSession, task: URLSessionTask, willPerformHTTPRedirection response: HTTPURLResponse,
    newRequest request: URLRequest, completionHandler: @escaping (URLRequest?) -> Void
  ) {
    let isSecure = request.url?.scheme?.lowercased() == "https"
    completionHandler(redirects == .secure && isSecure ? request : nil)
  }

  func urlSession(_ session: URLSession, task: URLSessionTask, didCompleteWithError error: (any Error)?) {
    let (continuation, result): (CheckedContinuation<HTTPAnswer, any Error>?, Result<HTTPAnswer, any Error>) =
      state.withLock { state in
        defer { state = State() }
        if state.isCancelled { return (state.answer, .failure(CancellationError())) }
        guard !state.isTooLarge else {
          return (state.answer, .failure(StillwireError(.tooLarge, "the answer has more than \(maxSize) bytes")))
        }
        guard error == nil else {
          return (state.answer, .failure(StillwireError(.unreachable, "the relay did not answer", isTemporary: true)))
        }
        return (
          state.answer,
          .success(HTTPAnswer(status: state.status, tag: state.tag, leader: state.leader, body: state.body))
        )
      }
    continuation?.resume(with: result)
  }
}
