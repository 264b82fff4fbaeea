// SPDX-License-Identifier: Apache-2.0
import RelayProtocol

extension AppleSimulator {
  /// Which tokens are known of each key, and whether another comes too soon.
  ///
  /// Apple: "Refresh your token no more than once every 20 minutes." What counts is when the tokens say that they were
  /// made, so that a connection that was opened late with an old token may go on with the next one.
  struct TokenUpdates {
    private struct Known {
      var text: String
      var issued: Timestamp
    }

    static let interval = Duration.seconds(20 * 60)
    /// One key in use, and those it is related to.
    static let mostKeys = 64

    private var newest: [String: Known] = [:]

    /// - Returns: false when it comes too soon; it is not known then.
    mutating func note(_ text: String, keyID: String, issued: Timestamp) -> Bool {
      if let known = newest[keyID] {
        if known.text == text { return true }
        guard issued - known.issued >= Self.interval else { return false }
      } else if newest.count == Self.mostKeys {
        newest.removeAll()
      }
      newest[keyID] = Known(text: text, issued: issued)
      return true
    }
  }
}
