// SPDX-License-Identifier: Apache-2.0
import RelayDelivery
import RelayProtocol
import Testing

/// The time of the event `pushed` about a recipient who hides their presence.
@Suite struct HiddenReportTests {
  private func time(_ change: (inout MessageFacts) -> Void = { _ in }) -> Timestamp? {
    var message = DeliveryCase.plain.message
    change(&message)
    return message.hiddenReportTime()
  }

  @Test func `the delay is the longest of the usual waits`() {
    #expect(time() == .at(10_000))
    let message = DeliveryCase.plain.message
    #expect(message.hiddenReportTime(DeliveryPolicy(grace: .seconds(20))) == .at(20_000))
    #expect(message.hiddenReportTime(DeliveryPolicy(grace: .zero)) == .at(5_000))
    // The maximum of all waits limits the delay, even with a longer grace.
    #expect(message.hiddenReportTime(DeliveryPolicy(grace: .seconds(3_600))) == .at(45_000))
  }

  @Test func `a message that is not pushed has no report`() {
    #expect(time { $0.isPushAsked = false } == nil)
    #expect(time { $0.isDeleted = true } == nil)
    #expect(time { $0.expires = .at(10_000) } == nil)
    #expect(time { $0.expires = .at(10_001) } == .at(10_000))
  }

  @Test func `a call has no delayed report, because it has no waits`() {
    #expect(time { $0.kind = .call } == nil)
    var call = DeliveryCase.plain.message
    call.kind = .call
    #expect(call.hiddenReportDelay() == nil)
  }

  @Test(arguments: [Level.passive, .active, .timeSensitive, .critical], [true, false])
  func `the delay is the same for each level and for Notify Anyway`(level: Level, isNotifyAnyway: Bool) {
    #expect(
      time {
        $0.level = level
        $0.isNotifyAnyway = isNotifyAnyway
      } == .at(10_000))
  }
}
