// SPDX-License-Identifier: Apache-2.0
import RelayProtocol
import Testing

@testable import RelayDelivery

/// The limits of notifications from one sender to one recipient in a minute.
@Suite struct PushPaceTests {
  private static let (ann, bob, cleo) = (UserID(unchecked: "ann"), UserID(unchecked: "bob"), UserID(unchecked: "cleo"))
  private static let now = Timestamp(rawValue: 1_700_000_040_000)
  private static let plain = MessageFacts(sender: ann, time: now, expires: now + .seconds(3_600))

  private func due(_ pace: inout PushPace, _ message: MessageFacts = plain) -> Timestamp {
    pace.due(of: message, to: Self.bob, now: Self.now)
  }

  private func admits(
    _ pace: inout PushPace, _ kind: PushPace.Kind, _ count: Int = 1, from sender: UserID = ann,
    to recipient: UserID = bob
  ) -> [Bool] {
    (0..<count).map { _ in pace.admits(kind, from: sender, to: recipient) }
  }

  @Test(arguments: [(PushPace.Kind.message, 20), (.critical, 6), (.call, 10)])
  func `each kind has a limit in a minute`(kind: PushPace.Kind, limit: Int) {
    var pace = PushPace()
    #expect(admits(&pace, kind, limit + 2) == Array(repeating: true, count: limit) + [false, false])
    pace.advance(to: .seconds(59))
    #expect(admits(&pace, kind) == [false])
    pace.advance(to: .seconds(60))
    #expect(admits(&pace, kind, limit + 1) == Array(repeating: true, count: limit) + [false])
  }

  @Test(arguments: [PushPace.Kind.message, .critical, .call])
  func `zero lifts a limit, and one admits one`(kind: PushPace.Kind) {
    var pace = PushPace(limits: PushPace.Limits(messages: 0, critical: 0, calls: 0))
    #expect(admits(&pace, kind, 200).allSatisfy { $0 })
    pace.limits = PushPace.Limits(messages: 1, critical: 1, calls: 1)
    #expect(admits(&pace, kind, 2) == [true, false])
  }

  @Test func `the kinds count separately`() {
    var pace = PushPace(limits: PushPace.Limits(messages: 1, critical: 1, calls: 1))
    for kind in [PushPace.Kind.message, .critical, .call] { #expect(admits(&pace, kind, 2) == [true, false]) }
  }

  @Test func `pushes of messages beyond the limit wait for the end of the minute`() {
    var pace = PushPace()
    for _ in 0..<20 { #expect(due(&pace) == Self.now) }
    #expect(due(&pace) == Self.now + .seconds(60))
    pace.advance(to: .seconds(20))
    #expect(due(&pace) == Self.now + .seconds(40))
    pace.advance(to: .milliseconds(59_999))
    #expect(due(&pace) == Self.now + .milliseconds(1))
    pace.advance(to: .seconds(60))
    for _ in 0..<20 { #expect(due(&pace) == Self.now) }
    #expect(due(&pace) == Self.now + .seconds(60))
  }

  @Test func `a minute begins with the first use after the last one`() {
    var pace = PushPace()
    pace.advance(to: .seconds(95))
    for _ in 0..<20 { #expect(due(&pace) == Self.now) }
    pace.advance(to: .seconds(150))
    #expect(pace.rest == .seconds(5))
    #expect(due(&pace) == Self.now + .seconds(5))
  }

  @Test func `each pair of sender and recipient is counted separately`() {
    var pace = PushPace()
    #expect(admits(&pace, .message, 21).last == false)
    #expect(admits(&pace, .message, to: Self.cleo) == [true])
    #expect(admits(&pace, .message, from: Self.cleo) == [true])
    #expect(admits(&pace, .message, from: Self.bob, to: Self.ann) == [true])
    #expect(admits(&pace, .message) == [false])
  }

  @Test func `calls, Notify Anyway, silent pushes and pushes that would expire are not delayed`() {
    var (call, anyway, silent, short) = (Self.plain, Self.plain, Self.plain, Self.plain)
    call.kind = .call
    anyway.isNotifyAnyway = true
    silent.isSilent = true
    short.expires = Self.now + .seconds(60)
    var pace = PushPace()
    for message in [call, anyway, silent] {
      for _ in 0..<30 { #expect(due(&pace, message) == Self.now) }
    }
    for _ in 0..<20 { #expect(due(&pace) == Self.now) }
    #expect(due(&pace) == Self.now + .seconds(60))
    for message in [short, call, anyway, silent] { #expect(due(&pace, message) == Self.now) }
  }

  @Test func `pairs beyond the limit are not throttled`() {
    var pace = PushPace()
    for number in 0..<PushPace.maxPairs {
      _ = pace.admits(.message, from: UserID(unchecked: "\(number)"), to: Self.bob)
    }
    #expect(admits(&pace, .message, 30).allSatisfy { $0 })
    // The known pairs are still counted, and the pairs of another kind.
    #expect(admits(&pace, .message, 20, from: UserID(unchecked: "0")).last == false)
    #expect(admits(&pace, .call, 11).last == false)
  }
}
