// SPDX-License-Identifier: Apache-2.0
import RelayDelivery
import RelayJSON
import RelayProtocol

/// How soon a browser is to hear of a push (RFC 8030, section 5.3).
enum Urgency: String { case low, normal, high }

extension Push {
  /// nil: it shows nothing, which browsers do not allow.
  var urgency: Urgency? {
    guard let payload = JSON(reading: payload), payload["aps"]?["alert"] != nil else { return nil }
    let level = payload["aps"]?["interruption-level"]?.text
    if payload["communication"]?["kind"]?.text == "call" { return .high }
    if level == "time-sensitive" || level == "critical" { return .high }
    return headers.priority == .high ? .normal : .low
  }

  /// The headers of RFC 8030, section 5, but for who sends it.
  /// - Parameters:
  ///   - urgency: As ``urgency`` says.
  ///   - topic: A push that waits at the service is replaced by the next of the same topic (section 5.4).
  func webPushFields(_ urgency: Urgency, topic: String, now: Timestamp) -> [(name: String, value: String)] {
    [
      ("TTL", String(timeToLive(now: now))),
      ("Urgency", urgency.rawValue),
      ("Topic", topic),
      ("Content-Encoding", "aes128gcm"),
      ("Content-Type", "application/octet-stream"),
    ]
  }

  /// Seconds for which the service may keep it.
  private func timeToLive(now: Timestamp) -> Int64 {
    min(max(0, headers.expiration - now.rawValue / 1000), Self.longestTimeToLive)
  }

  /// Four weeks: the most that every service takes.
  static let longestTimeToLive: Int64 = 28 * 24 * 3600
}
