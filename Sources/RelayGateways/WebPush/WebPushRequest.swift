// SPDX-License-Identifier: Apache-2.0
// The urgency, the payload and the HTTP headers of a push to a browser.
import RelayDelivery
import RelayJSON
import RelayProtocol

/// The urgency of a push to a browser (RFC 8030, section 5.3).
enum Urgency: String { case low, normal, high }

extension PhonePush {
  /// The urgency. Is `nil` when the push shows nothing: browsers do not allow such pushes.
  var urgency: Urgency? {
    switch level {
    case nil: nil
    case .passive: .low
    case .active: isRinging ? .high : .normal
    case .timeSensitive, .critical: .high
    }
  }
}

extension Push {
  /// The payload with the collapse id as its member `tag`. A service worker does not see the headers of a push.
  var taggedPayload: [UInt8] {
    JSONWriter.object { object in
      object.members(of: payload)
      object["tag"] = headers.collapseID
    }
  }

  /// The largest number of bytes that ``taggedPayload`` adds. A collapse id needs no escape in JSON.
  static let maxTagLength = #","tag":"""#.utf8.count + PushHeaders.maxCollapseID

  /// Returns the headers of RFC 8030, section 5, without `Authorization`.
  /// - Parameters:
  ///   - urgency: The value of ``urgency``.
  ///   - topic: A push replaces a waiting push with the same topic (section 5.4).
  func webPushFields(_ urgency: Urgency, topic: String, now: Timestamp) -> [(name: String, value: String)] {
    [
      ("TTL", String(timeToLive(now: now))),
      ("Urgency", urgency.rawValue),
      ("Topic", topic),
      ("Content-Encoding", "aes128gcm"),
      ("Content-Type", "application/octet-stream"),
    ]
  }

  /// The seconds for which the service may keep the push.
  private func timeToLive(now: Timestamp) -> Int64 {
    min(max(0, headers.expiration - now.rawValue / 1000), Self.maxTimeToLive)
  }

  /// Four weeks, in seconds: the largest value that every service accepts.
  static let maxTimeToLive: Int64 = 28 * 24 * 3600
}
