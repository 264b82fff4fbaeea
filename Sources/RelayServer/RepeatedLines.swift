// SPDX-License-Identifier: Apache-2.0

/// Admits each text once a minute, for failures that repeat several times a second.
struct RepeatedLines {
  static let interval = Duration.seconds(60)
  /// The maximum number of different texts in an interval.
  static let maxTexts = 20

  private var admitted: [String: ContinuousClock.Instant] = [:]

  /// Returns true if the text is due.
  mutating func admits(_ text: String, at now: ContinuousClock.Instant) -> Bool {
    admitted = admitted.filter { now - $0.value < Self.interval }
    guard admitted[text] == nil, admitted.count < Self.maxTexts else { return false }
    admitted[text] = now
    return true
  }
}
