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
    /// The newest response that was written to it.
    var newest: Int64 = 0
    /// What was written, oldest first, by the number under which its arrival is confirmed.
    var unconfirmed: [(number: Int64, responses: [Int64])] = []
    var isReading = false
    /// There may be more than is being read.
    var isAgain = false

    /// How many more may be written before some of it arrives.
    var room: Int { UntoldResponses.mostUnconfirmed - unconfirmed.reduce(0) { $0 + $1.responses.count } }

    /// - Returns: The responses that have arrived.
    mutating func confirm(upTo number: Int64) -> [Int64] {
      let arrived = unconfirmed.prefix { $0.number <= number }
      unconfirmed.removeFirst(arrived.count)
      return arrived.flatMap(\.responses)
    }
  }

  /// So many of the longest texts stay below what a session's queue holds by default.
  static let mostUnconfirmed = 32
}
