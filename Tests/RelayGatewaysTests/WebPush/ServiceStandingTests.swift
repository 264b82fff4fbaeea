// SPDX-License-Identifier: Apache-2.0
import Testing

@testable import RelayGateways

@Suite struct ServiceStandingTests {
  private let start = ContinuousClock.now
  private var standing = ServiceStanding()

  private func at(_ seconds: Int) -> ContinuousClock.Instant { start + .seconds(seconds) }

  private mutating func refuse(_ subscription: Int, at seconds: Int, isTrial: Bool = false) -> ServiceStanding.Refusal {
    standing.refused(.forbidden, for: subscription, at: at(seconds), isTrial: isTrial)
  }

  @Test mutating func `one subscription never pauses the service`() {
    for second in 0..<100 {
      #expect(refuse(1, at: second) == .uncertain(.seconds(30)))
      #expect(standing.entry(of: 2, at: at(second)) == .send)
    }
    #expect(standing.reason == nil)
  }

  @Test mutating func `three distinct subscriptions pause the service`() {
    #expect(refuse(1, at: 0) == .uncertain(.seconds(30)))
    #expect(refuse(2, at: 1) == .uncertain(.seconds(30)))
    #expect(refuse(3, at: 2) == .service(wait: .seconds(30), isNew: true))
    #expect(standing.reason == .forbidden)
    #expect(standing.entry(of: 1, at: at(12)) == .wait(.seconds(20)))
    #expect(standing.entry(of: 1, at: at(32)) == .trial)
    #expect(refuse(1, at: 32, isTrial: true) == .service(wait: .seconds(60), isNew: false))
  }

  @Test mutating func `an acceptance between refusals starts the count again`() {
    _ = refuse(1, at: 0)
    _ = refuse(2, at: 1)
    #expect(standing.accepted(at: at(2)) == false)
    #expect(refuse(3, at: 61) == .subscription)
    #expect(refuse(3, at: 62) == .uncertain(.seconds(30)))
  }

  @Test mutating func `a subscription that was not refused is probed during a pause, once in 30 s`() {
    for subscription in 1...3 { _ = refuse(subscription, at: 0) }
    #expect(standing.entry(of: 4, at: at(1)) == .send)
    #expect(standing.entry(of: 5, at: at(2)) == .wait(.seconds(28)))
    #expect(refuse(4, at: 3) == .service(wait: .seconds(27), isNew: false))
    #expect(standing.entry(of: 4, at: at(29)) == .wait(.seconds(1)))
    #expect(standing.entry(of: 5, at: at(31)) == .send)
    #expect(standing.accepted(at: at(32)) == true)
    #expect(standing.entry(of: 1, at: at(32)) == .send)
  }

  @Test mutating func `the list of refused subscriptions is bounded`() {
    for subscription in 1...100 { _ = refuse(subscription, at: 0) }
    #expect(standing.entry(of: 100, at: at(1)) == .wait(.seconds(29)))
    #expect(standing.entry(of: 1, at: at(1)) == .send)
  }
}
