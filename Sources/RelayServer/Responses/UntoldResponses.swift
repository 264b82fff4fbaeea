// SPDX-License-Identifier: Apache-2.0
import RelayHub
import RelayProtocol

/// Whom there are responses for, and how far their sessions have them.
struct UntoldResponses {
  /// Those for whom there may be some in the store.
  var senders: Set<UserID> = []
  /// Sessions that were told of some.
  var sessions: [SessionHandle: Telling] = [:]

  /// What one session was told.
  struct Telling {
    let sender: UserID
    /// Bytes of what was written and has not arrived, at most; what goes alone may have more.
    let mostBytes: Int
    /// The newest response that was written to it.
    var newest: Int64 = 0
    /// What was written, oldest first, by the number under which its arrival is confirmed.
    var unconfirmed: [(number: Int64, responses: [Int64], bytes: Int)] = []
    var isReading = false
    /// There may be more than is being read.
    var isAgain = false

    private var bytes: Int { unconfirmed.reduce(0) { $0 + $1.bytes } }

    /// How many more may be written before some of it arrives.
    var room: Int {
      guard bytes < mostBytes else { return 0 }
      return UntoldResponses.mostUnconfirmed - unconfirmed.reduce(0) { $0 + $1.responses.count }
    }

    /// How many of these frames may be written now, from the first on.
    func fitting(_ frames: [[UInt8]]) -> Int {
      var bytes = bytes
      let most = frames.prefix { frame in
        defer { bytes += frame.count }
        return bytes == 0 || bytes + frame.count <= mostBytes
      }
      return most.count
    }

    /// - Returns: The responses that have arrived.
    mutating func confirm(upTo number: Int64) -> [Int64] {
      let arrived = unconfirmed.prefix { $0.number <= number }
      unconfirmed.removeFirst(arrived.count)
      return arrived.flatMap(\.responses)
    }
  }

  /// Responses that one session owes the pong of at most.
  static let mostUnconfirmed = 32
  /// The part of a session's queue that they take at most, as its inverse: other events have to fit as well.
  static let shareOfQueue = 2
}
