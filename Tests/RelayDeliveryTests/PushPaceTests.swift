// SPDX-License-Identifier: Apache-2.0
import RelayProtocol
import Testing

@testable import RelayDelivery

/// The limit of pushes from one sender to one recipient in a minute.
@Suite struct PushPaceTests {
  private static let (ann, bob, cleo) = (UserID(unchecked: "ann"), UserID(unchecked: "bob"), UserID(unchecked: "cleo"))
  private static let minute = Timestamp(rawValue: 1_700_000_040_000)

  @Test func `pushes beyond twenty in a minute wait for its end`() {
    var pace = PushPace()
    for second in 0..<20 {
      let now = Self.minute + .seconds(second)
      #expect(pace.due(from: Self.ann, to: Self.bob, now: now) == now)
    }
    for second in [20, 59] {
      #expect(
        pace.due(from: Self.ann, to: Self.bob, now: Self.minute + .seconds(second)) == Self.minute + .seconds(60))
    }
    let next = Self.minute + .seconds(60)
    #expect(pace.due(from: Self.ann, to: Self.bob, now: next) == next)
    // The push at the end of a minute counts in the next one.
    for _ in 1..<20 { #expect(pace.due(from: Self.ann, to: Self.bob, now: next) == next) }
    #expect(pace.due(from: Self.ann, to: Self.bob, now: next) == next + .seconds(60))
  }

  @Test func `each pair of sender and recipient is counted separately`() {
    var pace = PushPace()
    for _ in 0..<20 { _ = pace.due(from: Self.ann, to: Self.bob, now: Self.minute) }
    #expect(pace.due(from: Self.ann, to: Self.cleo, now: Self.minute) == Self.minute)
    #expect(pace.due(from: Self.cleo, to: Self.bob, now: Self.minute) == Self.minute)
    #expect(pace.due(from: Self.bob, to: Self.ann, now: Self.minute) == Self.minute)
    #expect(pace.due(from: Self.ann, to: Self.bob, now: Self.minute) > Self.minute)
  }

  @Test func `a clock that is set back does not make pushes wait`() {
    var pace = PushPace()
    _ = pace.due(from: Self.ann, to: Self.bob, now: Self.minute + .seconds(86_400))
    for _ in 0..<20 { #expect(pace.due(from: Self.ann, to: Self.bob, now: Self.minute) == Self.minute) }
    #expect(pace.due(from: Self.ann, to: Self.bob, now: Self.minute) == Self.minute + .seconds(60))
  }

  @Test func `calls, Notify Anyway, silent pushes and pushes that would expire are not delayed`() {
    let expires = Self.minute + .seconds(3_600)
    let plain = MessageFacts(sender: Self.ann, time: Self.minute, expires: expires)
    var (call, anyway, silent, short) = (plain, plain, plain, plain)
    call.kind = .call
    anyway.isNotifyAnyway = true
    silent.isSilent = true
    short.expires = Self.minute + .seconds(60)
    var pace = PushPace()
    for message in [call, anyway, silent] {
      for _ in 0..<30 { #expect(pace.due(of: message, to: Self.bob, now: Self.minute) == Self.minute) }
    }
    for _ in 0..<20 { #expect(pace.due(of: plain, to: Self.bob, now: Self.minute) == Self.minute) }
    #expect(pace.due(of: plain, to: Self.bob, now: Self.minute) == Self.minute + .seconds(60))
    #expect(pace.due(of: short, to: Self.bob, now: Self.minute) == Self.minute)
    #expect(pace.due(of: call, to: Self.bob, now: Self.minute) == Self.minute)
  }

  @Test func `pairs beyond the limit are not throttled`() {
    var pace = PushPace()
    for number in 0..<PushPace.maxPairs {
      _ = pace.due(from: UserID(unchecked: "\(number)"), to: Self.bob, now: Self.minute)
    }
    for _ in 0..<30 { #expect(pace.due(from: Self.ann, to: Self.bob, now: Self.minute) == Self.minute) }
    // The known pairs are still counted.
    for _ in 1..<20 { _ = pace.due(from: UserID(unchecked: "0"), to: Self.bob, now: Self.minute) }
    #expect(pace.due(from: UserID(unchecked: "0"), to: Self.bob, now: Self.minute) > Self.minute)
  }
}
