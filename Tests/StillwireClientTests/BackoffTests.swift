// SPDX-License-Identifier: Apache-2.0
// Tests the backoff between attempts to connect, and the close codes after which the client does not reconnect.
import RelayProtocol
import Testing

@testable import StillwireClient

@Suite struct BackoffTests {
  @Test func `the ceiling doubles from half a second to 20 s`() {
    var backoff = Backoff()
    let waits = (0..<8).map { _ in backoff.failed(random: 1).seconds }
    #expect(waits == [0.5, 1, 2, 4, 8, 16, 20, 20])
  }

  @Test func `the delay stays at 20 s after ten thousand failures in a row`() {
    var backoff = Backoff()
    for _ in 0..<10_000 { _ = backoff.failed(random: 1) }
    #expect(backoff.failed(random: 1) == .seconds(20))
  }

  @Test(arguments: [(0, 0.0), (0.25, 0.125), (0.7, 0.35), (1, 0.5)])
  func `the jitter is full`(_ random: Double, _ wait: Double) {
    var backoff = Backoff()
    #expect(backoff.failed(random: random) == .rounded(seconds: wait))
  }

  @Test func `the delay that the relay requests is the minimum`() {
    var backoff = Backoff()
    #expect(backoff.failed(random: 0, retryAfter: .seconds(3)) == .seconds(3))
    #expect(backoff.failed(random: 1, retryAfter: .seconds(3)) == .seconds(4))
  }

  @Test func `the jitter of the relay raises the ceiling of one delay`() {
    var backoff = Backoff()
    #expect(backoff.failed(random: 0.5, jitter: .seconds(8)) == .seconds(4))
    #expect(backoff.failed(random: 0.5, jitter: .milliseconds(200)) == .milliseconds(500))
    #expect(backoff.failed(random: 0.5) == .seconds(1))
  }

  @Test func `a session that the relay has ended in order is no failure`() {
    var backoff = Backoff()
    for _ in 0..<5 { _ = backoff.failed(random: 1) }
    #expect(backoff.handedOver(random: 0.5, retryAfter: nil, jitter: .seconds(8)) == .seconds(4))
    #expect(backoff.handedOver(random: 0.5, retryAfter: .seconds(3), jitter: .seconds(8)) == .seconds(3))
    #expect(backoff.handedOver(random: 0.5, retryAfter: nil, jitter: .zero) == nil)
    #expect(backoff.failed(random: 1) == .milliseconds(500))
  }

  @Test func `a success resets the backoff`() {
    var backoff = Backoff()
    for _ in 0..<5 { _ = backoff.failed(random: 1) }
    backoff.succeeded()
    #expect(backoff.failed(random: 1) == .milliseconds(500))
  }

  @Test(arguments: CloseCode.allCases) func `the client follows the protocol's rule for a code`(_ code: CloseCode) {
    #expect(Refusal.isFinal(code.rawValue) == !code.reconnects)
  }

  @Test(arguments: [(1000, false), (1006, false), (4499, false), (4500, true), (4999, true), (5000, false)])
  func `the client reconnects after unknown codes, except 4500 to 4999`(_ code: UInt16, _ isFinal: Bool) {
    #expect(Refusal.isFinal(code) == isFinal)
  }

  @Test func `a refusal has a reason of at most 123 characters`() {
    #expect(Refusal(code: 4501).reason == "closed with 4501")
    #expect(Refusal(code: 4501, reason: String(repeating: "x", count: 1_000)).reason.count == 123)
  }
}
