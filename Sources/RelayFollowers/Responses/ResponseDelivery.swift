// SPDX-License-Identifier: Apache-2.0
import RelayProtocol

/// The responses that were sent to one session, until the session has confirmed them.
struct ResponseDelivery {
  let sender: UserID
  /// The maximum size of all unconfirmed responses, in bytes. A single response may be larger.
  let maxBytes: Int
  /// The newest response that was sent.
  var newest: Int64 = 0
  /// The responses that were sent, oldest first, each with the number of the ping whose pong confirms it.
  var unconfirmed: [(number: Int64, responses: [Int64], bytes: Int)] = []
  var isReading = false
  /// True if the store may have more responses than the current read returns.
  var isAgain = false

  /// The maximum number of unconfirmed responses of a session.
  static let maxUnconfirmed = 32
  /// Unconfirmed responses may use half of a session's queue, so that other events fit, too. The value is the divisor.
  static let shareOfQueue = 2

  private var bytes: Int { unconfirmed.reduce(0) { $0 + $1.bytes } }

  /// The number of responses that may be sent before earlier ones are confirmed.
  var capacity: Int {
    guard bytes < maxBytes else { return 0 }
    return Self.maxUnconfirmed - unconfirmed.reduce(0) { $0 + $1.responses.count }
  }

  /// The number of these frames that may be sent now, beginning with the first.
  func fitting(_ frames: [[UInt8]]) -> Int {
    var bytes = bytes
    let fitting = frames.prefix { frame in
      defer { bytes += frame.count }
      return bytes == 0 || bytes + frame.count <= maxBytes
    }
    return fitting.count
  }

  /// - Returns: The responses that are now confirmed.
  mutating func confirm(upTo number: Int64) -> [Int64] {
    let arrived = unconfirmed.prefix { $0.number <= number }
    unconfirmed.removeFirst(arrived.count)
    return arrived.flatMap(\.responses)
  }
}
