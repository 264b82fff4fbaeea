// SPDX-License-Identifier: Apache-2.0
import Foundation
public import RelayProtocol
import Synchronization

/// The answers of services to the attempts of one push, oldest first. Safe to use from any thread.
public final class AttemptLog: Sendable {
  private let state = Mutex<[PushAttempt]>([])

  public init() {}

  public var attempts: [PushAttempt] { state.withLock { $0 } }

  public func note(_ attempt: PushAttempt) { state.withLock { $0.append(attempt) } }

  /// - Parameter secret: The token of the device. An answer that repeats it, or its last path segment, is not stored.
  func note(_ answer: HTTPAnswer, _ outcome: PushOutcome, at time: Timestamp, hiding secret: String) {
    // The body of a success explains nothing, so it is not stored.
    let body = outcome.reason == nil ? nil : answer.body.map { String(decoding: $0, as: UTF8.self) }
    note(
      PushAttempt(
        time: time, status: answer.status, reason: outcome.reason?.rawValue,
        words: body.flatMap { Self.repeats($0, secret) ? nil : $0 }))
  }

  /// True if the words contain the secret or its last path segment, even with escaped slashes or percent-encoding.
  private static func repeats(_ words: String, _ secret: String) -> Bool {
    let plain = words.replacing("\\", with: "")
    let decoded = plain.removingPercentEncoding ?? plain
    let path = secret.split(separator: "/").last.map(String.init) ?? secret
    return [secret, path].contains { plain.contains($0) || decoded.contains($0) }
  }
}
