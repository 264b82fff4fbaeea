// SPDX-License-Identifier: Apache-2.0
import Foundation
public import RelayProtocol
import Synchronization

/// What services said to the attempts of one push, the first first. Any thread.
public final class AttemptLog: Sendable {
  private let state = Mutex<[PushAttempt]>([])

  public init() {}

  public var attempts: [PushAttempt] { state.withLock { $0 } }

  public func note(_ attempt: PushAttempt) { state.withLock { $0.append(attempt) } }

  /// - Parameter secret: What lets others push to the device: an answer that repeats it, or its last part, is not kept.
  func note(_ answer: HTTPAnswer, _ outcome: PushOutcome, at time: Timestamp, hiding secret: String) {
    // Words that explain nothing are not kept either.
    let body = outcome.reason == nil ? nil : answer.body.map { String(decoding: $0, as: UTF8.self) }
    note(
      PushAttempt(
        time: time, status: answer.status, reason: outcome.reason?.rawValue,
        words: body.flatMap { Self.tells($0, secret) ? nil : $0 }))
  }

  /// However the slashes of JSON or of an address are written.
  private static func tells(_ words: String, _ secret: String) -> Bool {
    let plain = words.replacing("\\", with: "")
    let decoded = plain.removingPercentEncoding ?? plain
    let path = secret.split(separator: "/").last.map(String.init) ?? secret
    return [secret, path].contains { plain.contains($0) || decoded.contains($0) }
  }
}
