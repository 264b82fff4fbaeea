// SPDX-License-Identifier: Apache-2.0
import Foundation
import RelayProtocol

/// The answer of Apple's service to one request.
struct AppleAnswer: Equatable, Sendable {
  var status: Int
  /// The reason in Apple's spelling, if the answer contains one.
  var reason: String?
  /// The time at which the token became invalid; only with status 410.
  var timestamp: Timestamp?
  var retryAfter: Duration?
  /// The service's wall clock time.
  var date: Timestamp?
}

extension AppleAnswer {
  /// - Parameters:
  ///   - body: JSON or empty. Invalid JSON counts as empty.
  ///   - now: The current time, for a date in `Retry-After` if the answer has no date of its own.
  init(status: Int, body: [UInt8], retryAfter: String?, date: String?, now: Timestamp) {
    struct Body: Decodable {
      var reason: String?
      /// Milliseconds.
      var timestamp: Double?
    }
    let parsed = body.isEmpty ? nil : try? JSONDecoder().decode(Body.self, from: Data(body))
    let maxTimestamp = 1e15
    let date = date.flatMap(Timestamp.init(httpDate:))
    self.init(
      status: status, reason: parsed?.reason,
      timestamp: parsed?.timestamp.flatMap { (0...maxTimestamp).contains($0) ? Timestamp(rawValue: Int64($0)) : nil },
      retryAfter: retryAfter.flatMap { Duration(retryAfter: $0, now: date ?? now) }, date: date)
  }
}

extension Timestamp {
  /// Parses the preferred form of RFC 9110, section 5.6.7: `Sun, 06 Nov 1994 08:49:37 GMT`.
  init?(httpDate text: String) {
    let formatter = DateFormatter()
    formatter.locale = Locale(identifier: "en_US_POSIX")
    formatter.timeZone = TimeZone(identifier: "GMT")
    formatter.dateFormat = "EEE, dd MMM yyyy HH:mm:ss 'GMT'"
    guard let date = formatter.date(from: text) else { return nil }
    self.init(rawValue: Int64(date.timeIntervalSince1970) * 1000)
  }
}
