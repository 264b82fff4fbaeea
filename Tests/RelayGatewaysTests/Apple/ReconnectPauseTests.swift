// SPDX-License-Identifier: Apache-2.0
import Testing

@testable import RelayGateways

@Suite struct ReconnectPauseTests {
  @Test func `pauses double with each failure up to a minute, and a success resets them`() {
    var generator = Largest()
    var pause = ReconnectPause()
    let pauses = (0..<12).map { _ in pause.failed(using: &generator) }
    #expect(pauses.first == .milliseconds(400))
    #expect(pauses[3] == .milliseconds(3_200))
    #expect(pauses.last == .seconds(60))
    pause.succeeded()
    #expect(pause.failed(using: &generator) == .milliseconds(400))
  }

  @Test func `a pause is random, so that many relays do not reconnect at once`() {
    var generator = SystemRandomNumberGenerator()
    let pauses = (0..<200).map { _ in
      var pause = ReconnectPause()
      return pause.failed(using: &generator)
    }
    #expect(pauses.allSatisfy { (.milliseconds(200) ... .milliseconds(400)).contains($0) })
    #expect(Set(pauses).count > 10)
  }

  /// Always returns the end of the range.
  private struct Largest: RandomNumberGenerator {
    mutating func next() -> UInt64 { .max }
  }
}
