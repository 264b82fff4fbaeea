// SPDX-License-Identifier: Apache-2.0
import RelayProtocol
import Testing

@testable import RelayDelivery

/// The rules that lower the level of a push, and their effects.
@Suite struct LevelTests {
  struct Case: Sendable {
    let requested: Level
    var maySender = true
    var mayTimeSensitive = true
    var mayCritical = true
    var isOverPace = false
    let given: Level

    var facts: DeliveryCase {
      .plain.with {
        $0.message.level = requested
        $0.message.isUrgentAllowed = maySender
        $0.device?.allowsTimeSensitive = mayTimeSensitive
        $0.device?.allowsCritical = mayCritical
        if isOverPace { $0.recipient.isOverCriticalPace = true }
      }
    }
  }

  @Test(arguments: [
    Case(requested: .passive, given: .passive),
    Case(requested: .passive, maySender: false, mayTimeSensitive: false, mayCritical: false, given: .passive),
    Case(requested: .active, given: .active),
    Case(requested: .active, maySender: false, mayTimeSensitive: false, mayCritical: false, given: .active),
    Case(requested: .timeSensitive, given: .timeSensitive),
    Case(requested: .timeSensitive, maySender: false, given: .active),
    Case(requested: .timeSensitive, mayTimeSensitive: false, given: .active),
    Case(requested: .timeSensitive, mayCritical: false, given: .timeSensitive),
    Case(requested: .critical, given: .critical),
    Case(requested: .critical, maySender: false, given: .active),
    Case(requested: .critical, mayTimeSensitive: false, given: .critical),
    Case(requested: .critical, mayCritical: false, given: .timeSensitive),
    Case(requested: .critical, mayTimeSensitive: false, mayCritical: false, given: .active),
    Case(requested: .critical, isOverPace: true, given: .timeSensitive),
    Case(requested: .critical, mayTimeSensitive: false, isOverPace: true, given: .active),
    Case(requested: .critical, maySender: false, isOverPace: true, given: .active),
    Case(requested: .timeSensitive, isOverPace: true, given: .timeSensitive),
  ])
  func `a level that is not allowed is lowered, and the decision gives the reason`(row: Case) {
    let decision = decide(row.facts)
    #expect(decision.outcome == .push(row.given))
    #expect(
      decision.reasons.map(\.code)
        == (row.given < row.requested ? [.nothingAgainst, .levelLowered] : [.nothingAgainst]))
    #expect(decision.reasons.allSatisfy { $0.rule == lastRule && !$0.words.isEmpty })
  }

  @Test func `the reason names the pace only if nothing else lowers the level`() {
    func words(_ row: Case) -> String? { decide(row.facts).reasons.last?.words }
    #expect(
      words(Case(requested: .critical, isOverPace: true, given: .timeSensitive))?.contains("`pace.critical`") == true)
    for row in [
      Case(requested: .critical, maySender: false, isOverPace: true, given: .active),
      Case(requested: .critical, mayCritical: false, isOverPace: true, given: .timeSensitive),
      Case(requested: .critical, mayCritical: false, given: .timeSensitive),
    ] {
      #expect(words(row)?.contains("the sender, the device and its app") == true)
    }
  }

  @Test func `a call without the entitlement for VoIP is an alert, and the decision gives the reason`() {
    let call = DeliveryCase.plain.with { $0.device?.lacksVoIPEntitlement = true }.asCall
    #expect(decide(call).outcome == .push(.active))
    #expect(decide(call).reasons.map(\.code) == [.nothingAgainst, .noVoIPEntitlement])
    let message = DeliveryCase.plain.with { $0.device?.lacksVoIPEntitlement = true }
    #expect(decide(message).reasons.map(\.code) == [.nothingAgainst])
    #expect(decide(call.with { $0.device?.lacksVoIPEntitlement = nil }).reasons.map(\.code) == [.nothingAgainst])
  }

  @Test func `a silence applies to a message at its lowered level`() {
    let lowered = Case(requested: .timeSensitive, mayTimeSensitive: false, given: .active).facts
    let held = decide(lowered.quietHours(.hold))
    #expect(held.outcome == .hold(until: .at(hour)))
    #expect(held.reasons.map(\.code) == [.quietHours, .levelLowered])
    let softened = decide(lowered.quietHours(.passive))
    #expect(softened.outcome == .push(.passive))
    #expect(softened.reasons.map(\.code) == [.quietHours, .levelLowered])
  }

  @Test func `a critical push that is lowered to time-sensitive is not held`() {
    let lowered = Case(requested: .critical, mayCritical: false, given: .timeSensitive).facts
    #expect(decide(lowered.quietHours(.hold)).outcome == .push(.timeSensitive))
  }

  @Test func `a decision without a device lowers no level`() {
    let facts = Case(requested: .critical, maySender: false, given: .active).facts.with { $0.device = nil }
    #expect(decide(facts).reasons.map(\.code) == [.noDevice])
  }

  @Test func `a Notify Anyway never raises the level`() {
    let facts = DeliveryCase.plain.with {
      $0.message.level = .passive
      $0.message.isNotifyAnyway = true
    }
    #expect(decide(facts).outcome == .push(.passive))
  }

  @Test func `the levels have an order`() {
    for (lower, higher) in zip(Level.allCases, Level.allCases.dropFirst()) {
      #expect(lower < higher)
      #expect(!(higher < lower))
    }
  }
}
