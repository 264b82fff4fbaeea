// SPDX-License-Identifier: Apache-2.0
import RelayProtocol
import Testing

@testable import RelayGateways

/// Tests the table of Apple's "Handling notification responses from APNs".
@Suite struct AppleDecisionTests {
  struct Row: CustomTestStringConvertible {
    let status: Int
    let reason: String?
    let decision: AppleDecision

    init(_ status: Int, _ reason: String?, _ decision: AppleDecision) {
      self.status = status
      self.reason = reason
      self.decision = decision
    }

    var testDescription: String { "\(status) \(reason ?? "")" }
  }

  static let rows = [
    Row(200, nil, .sent),
    Row(400, "BadCollapseId", .dead), Row(400, "BadDeviceToken", .switchEnvironment),
    Row(400, "BadExpirationDate", .dead), Row(400, "BadMessageId", .dead), Row(400, "BadPriority", .dead),
    Row(400, "BadTopic", .pause), Row(400, "DeviceTokenNotForTopic", .dead), Row(400, "DuplicateHeaders", .dead),
    Row(400, "IdleTimeout", .reconnect), Row(400, "InvalidPushType", .dead), Row(400, "MissingDeviceToken", .dead),
    Row(400, "MissingTopic", .dead), Row(400, "PayloadEmpty", .dead), Row(400, "TopicDisallowed", .pause),
    Row(400, "A word of next year", .dead), Row(400, nil, .dead),
    Row(403, "BadCertificate", .pause), Row(403, "BadCertificateEnvironment", .pause),
    Row(403, "BadEnvironmentKeyIdInToken", .pause), Row(403, "ExpiredProviderToken", .renewToken),
    Row(403, "Forbidden", .pause), Row(403, "InvalidProviderToken", .pause),
    Row(403, "MissingProviderToken", .pause), Row(403, "UnrelatedKeyIdInToken", .reconnect), Row(403, nil, .pause),
    Row(404, "BadPath", .dead), Row(405, "MethodNotAllowed", .dead),
    Row(410, "Unregistered", .forget(before: nil)), Row(410, "ExpiredToken", .forget(before: nil)),
    Row(413, "PayloadTooLarge", .shorten),
    Row(429, "TooManyRequests", .spareDevice(.seconds(60))),
    Row(429, "TooManyProviderTokenUpdates", .keepToken(after: nil)),
    Row(500, "InternalServerError", .retry(after: nil)), Row(503, "ServiceUnavailable", .retry(after: nil)),
    Row(503, "Shutdown", .reconnect), Row(502, nil, .retry(after: nil)), Row(302, nil, .dead),
  ]

  @Test(arguments: rows)
  func `each answer leads to one decision`(_ row: Row) {
    #expect(AppleDecision(AppleAnswer(status: row.status, reason: row.reason)) == row.decision)
  }

  @Test func `a token is removed only if it registered before the service's time`() {
    let time = Timestamp(rawValue: 1_700_000_000_123)
    let answer = AppleAnswer(status: 410, reason: "Unregistered", timestamp: time)
    #expect(AppleDecision(answer) == .forget(before: time))
  }

  private static let environments: [(Bool, Set<AppleStep>, AppleDecision)] = [
    (false, [], .switchEnvironment), (false, [.switchedEnvironment], .forget(before: nil)),
    (true, [], .forget(before: nil)), (false, [.reconnected], .switchEnvironment),
  ]

  @Test(arguments: environments)
  func `the other environment is tried once, and only when the relay guessed the first`(
    _ isKnown: Bool, _ steps: Set<AppleStep>, _ decision: AppleDecision
  ) {
    let answer = AppleAnswer(status: 400, reason: "BadDeviceToken")
    #expect(AppleDecision(answer, after: steps, isEnvironmentKnown: isKnown) == decision)
  }

  @Test func `an expired token is renewed once, and only when it is old enough`() {
    let answer = AppleAnswer(status: 403, reason: "ExpiredProviderToken")
    #expect(AppleDecision(answer, canRenewToken: false) == .pause)
    #expect(AppleDecision(answer, after: [.renewedToken]) == .pause)
  }

  @Test(arguments: [
    Row(400, "IdleTimeout", .retry(after: nil)), Row(503, "Shutdown", .retry(after: nil)),
    Row(403, "UnrelatedKeyIdInToken", .pause),
  ])
  func `a new connection is tried once`(_ row: Row) {
    #expect(AppleDecision(AppleAnswer(status: row.status, reason: row.reason), after: [.reconnected]) == row.decision)
  }

  @Test func `the decisions use the service's Retry-After`() {
    func answer(_ status: Int, _ reason: String) -> AppleAnswer {
      AppleAnswer(status: status, reason: reason, retryAfter: .seconds(7))
    }
    #expect(AppleDecision(answer(429, "TooManyRequests")) == .spareDevice(.seconds(7)))
    #expect(AppleDecision(answer(429, "TooManyProviderTokenUpdates")) == .keepToken(after: .seconds(7)))
    #expect(AppleDecision(answer(503, "ServiceUnavailable")) == .retry(after: .seconds(7)))
  }
}
