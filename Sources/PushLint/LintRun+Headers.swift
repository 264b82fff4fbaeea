// SPDX-License-Identifier: Apache-2.0
import RelayProtocol

/// The rules for single headers. Source: Apple's "Sending notification requests to APNs".
extension LintRun {
  private static let known = [
    "apns-channel-id", "apns-collapse-id", "apns-expiration", "apns-id", "apns-priority", "apns-push-type",
    "apns-request-id", "apns-topic", "authorization",
  ]
  private static let ofHTTP = [
    "content-length", "content-type", "user-agent", ":method", ":path", ":scheme", ":authority",
  ]

  mutating func checkHeaders() {
    guard !headers.isEmpty else { return }
    for name in headers.names where !Self.known.contains(name) && !Self.ofHTTP.contains(name) {
      reportHeader(
        .headerUnknown, name, "Apple's service knows no header of this name",
        mend: name.nearest(of: Self.known).map { "did you mean \($0)?" }
          ?? "write data for the app into the payload")
    }
    checkType()
    checkTopic()
    checkPriority()
    checkCollapseID()
    checkID()
    checkExpiration()
  }

  private mutating func checkType() {
    guard let type = headers.type else {
      reportHeader(
        .pushTypeMissing, "apns-push-type", "the push type is missing: devices may delay or drop the push",
        mend: "write alert, or another type")
      return
    }
    guard PushTypes.suffixes[type] == nil else { return }
    reportHeader(
      .pushTypeUnknown, "apns-push-type", "\(type.quoted) is not a push type",
      mend: type.nearest(of: PushTypes.suffixes.keys).map { "did you mean \($0)?" } ?? "write alert, or another type"
    )
  }

  private mutating func checkTopic() {
    guard let topic = headers.topic else {
      reportHeader(
        .topicMissing, "apns-topic", "the topic is missing, and only a certificate can replace it",
        mend: "write the app's bundle id")
      return
    }
    guard let type = headers.type, let suffix = PushTypes.suffixes[type] else { return }
    guard !suffix.isEmpty else {
      if let other = PushTypes.suffixes.first(where: { !$1.isEmpty && topic.hasSuffix($1) }) {
        reportHeader(
          .topicSuffix, "apns-topic",
          "a topic that ends in \(other.value) is for the push type \(other.key), and this is \(type)",
          mend: "write the bundle id alone, or another push type")
      }
      return
    }
    guard !topic.hasSuffix(suffix) else { return }
    reportHeader(
      .topicSuffix, "apns-topic", "the topic of the push type \(type) ends in \(suffix)",
      mend: "write the bundle id and \(suffix)")
  }

  private mutating func checkPriority() {
    guard let priority = headers["apns-priority"], !["10", "5", "1"].contains(priority) else { return }
    reportHeader(.priorityValue, "apns-priority", "\(priority.quoted) is not a priority", mend: "write 10, 5 or 1")
  }

  private mutating func checkCollapseID() {
    guard let id = headers["apns-collapse-id"] else { return }
    let over = id.utf8.count - APNsLimits.maxCollapseID
    guard over > 0 else { return }
    reportHeader(
      .collapseIDLength, "apns-collapse-id",
      "the collapse id has \(id.utf8.count) bytes, \(over) more than \(APNsLimits.maxCollapseID)",
      mend: "shorten it: bytes of UTF-8 count, not characters")
  }

  private mutating func checkID() {
    guard let id = headers["apns-id"], !id.isLowercaseUUID else { return }
    let lowered = id.lowercased()
    reportHeader(
      .pushIDForm, "apns-id", "\(id.quoted) is not a UUID in lower case",
      mend: "32 hexadecimal digits in lower case, in groups of 8, 4, 4, 4 and 12",
      replacement: lowered.isLowercaseUUID ? lowered : nil)
  }

  private mutating func checkExpiration() {
    guard let text = headers["apns-expiration"] else { return }
    guard !text.isEmpty, text.utf8.allSatisfy(\.isDigit), let seconds = Double(text) else {
      reportHeader(
        .expirationValue, "apns-expiration", "\(text.quoted) is not a whole number of seconds",
        mend: "write seconds since 1970, or 0")
      return
    }
    switch seconds {
    case 0:
      if !headers.isVoIP {
        reportHeader(
          .expirationOnce, "apns-expiration", "with 0, Apple's service tries once and does not keep the push",
          mend: "write seconds since 1970 to keep it for a device that is off")
      }
    case 1e11...:
      reportHeader(
        .expirationMilliseconds, "apns-expiration", "\(text.clipped) is not a date in seconds since 1970",
        mend: "divide it by 1000",
        replacement: seconds < 1e14 ? String(Int64(seconds / 1000)) : nil)
    case ..<1e9:
      reportHeader(
        .expirationNoDate, "apns-expiration", "\(text.clipped) seconds since 1970 are a date before 2001",
        mend: "add the current time: the value is a date, not a duration")
    default:
      if headers.isVoIP {
        reportHeader(
          .voipExpiration, "apns-expiration", "a late VoIP push rings after the call has ended",
          mend: "write 0, or a date some seconds ahead")
      }
    }
  }

  private mutating func reportHeader(
    _ rule: LintRule, _ header: String, _ words: @autoclosure () -> String, mend: @autoclosure () -> String,
    replacement: @autoclosure () -> String? = nil
  ) {
    faults.report(rule, at: .header(header.clipped), words(), mend: mend(), replacement: replacement())
  }
}
