// SPDX-License-Identifier: Apache-2.0
import RelayProtocol

extension AppleSimulator {
  /// The newest token of each key. Detects tokens that change too often.
  ///
  /// Apple: "Refresh your token no more than once every 20 minutes." The times of issue in the tokens count. A
  /// connection that began late with an old token may therefore continue with the next one.
  struct TokenUpdates {
    private struct Known {
      var text: String
      var issued: Timestamp
    }

    static let interval = Duration.seconds(20 * 60)
    /// The maximum number of keys: the key in use and its related keys.
    static let maxKeys = 64

    private var newest: [String: Known] = [:]

    /// Records a token.
    /// - Returns: False if the token follows the previous one too soon. Then it is not recorded.
    mutating func note(_ text: String, keyID: String, issued: Timestamp) -> Bool {
      if let known = newest[keyID] {
        if known.text == text { return true }
        guard issued - known.issued >= Self.interval else { return false }
      } else if newest.count == Self.maxKeys {
        newest.removeAll()
      }
      newest[keyID] = Known(text: text, issued: issued)
      return true
    }
  }
}
