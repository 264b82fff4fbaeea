// SPDX-License-Identifier: Apache-2.0
import RelayProtocol

/// The responses that the relay has sent to one session, and their confirmation.
struct ResponseDelivery {
  package let sender: UserID
  /// The maximum of bytes that were written and are not confirmed. A response that is alone may have more.
  package let maxBytes: Int
  /// The newest response that was written.
  package var newest: Int64 = 0
  /// The responses that were written, oldest first, with the number that confirms their arrival.
  var unconfirmed: [(number: Int64, responses: [Int64], bytes: Int)] = []
  var isReading = false
  /// The store may have more responses than the read that is under way returns.
  var isAgain = false

  /// The maximum of unconfirmed responses of a session.
  static let maxUnconfirmed = 32
  /// The part of a session's queue that unconfirmed responses may take, as its inverse: other events have to fit too.
  static let shareOfQueue = 2

  private var bytes: Int { unconfirmed.reduce(0) { $0 + $1.bytes } }

  /// The number of responses that may be written before some of the others arrive.
  package var capacity: Int {
    guard bytes < maxBytes else { return 0 }
    return Self.maxUnconfirmed - unconfirmed.reduce(0) { $0 + $1.responses.count }
  }

  /// The number of these frames that may be written now, from the first on.
  package func fitting(_ frames: [[UInt8]]) -> Int {
    var bytes = bytes
    let fitting = frames.prefix { frame in
      defer { bytes += frame.count }
      return bytes == 0 || bytes + frame.count <= maxBytes
    }
    return fitting.count
  }

  /// - Returns: The responses that have arrived.
  package mutating func confirm(upTo number: Int64) -> [Int64] {
    let arrived = unconfirmed.prefix { $0.number <= number }
    unconfirmed.removeFirst(arrived.count)
    return arrived.flatMap(\.responses)
  }
}
