// SPDX-License-Identifier: Apache-2.0
import Testing

@testable import RelayGateways

@Suite struct CredentialPauseTests {
  private let start = ContinuousClock.now
  private var pause = CredentialPause()

  private func at(_ seconds: Int) -> ContinuousClock.Instant { start + .seconds(seconds) }

  @Test mutating func `after a refusal all pushes wait, and then one is tried`() {
    #expect(pause.wait(at: at(0)) == nil)
    let first = pause.refused(.invalidProviderToken, at: at(0), isTrial: false)
    #expect(first.wait == .seconds(30))
    #expect(first.isNew)
    #expect(pause.wait(at: at(10)) == .seconds(20))
    #expect(pause.wait(at: at(30)) == nil)
    #expect(pause.wait(at: at(30)) == .seconds(30))
  }

  @Test mutating func `refusals of pushes sent earlier do not lengthen the pause and are not news`() {
    _ = pause.refused(.forbidden, at: at(0), isTrial: false)
    let other = pause.refused(.forbidden, at: at(1), isTrial: false)
    #expect(other.wait == .seconds(29))
    #expect(!other.isNew)
  }

  @Test mutating func `each trial that fails doubles the pause, up to 15 minutes`() {
    var time = 0
    var waits: [Duration] = []
    for _ in 0..<7 {
      let wait = pause.refused(.badTopic, at: at(time), isTrial: time > 0).wait
      waits.append(wait)
      time += Int(wait.components.seconds)
      #expect(pause.wait(at: at(time)) == nil)
    }
    #expect(waits == [30, 60, 120, 240, 480, 900, 900].map { .seconds($0) })
  }

  @Test mutating func `an acceptance ends the pause`() {
    #expect(pause.accepted() == false)
    _ = pause.refused(.badTopic, at: at(0), isTrial: false)
    #expect(pause.reason == .badTopic)
    #expect(pause.accepted() == true)
    #expect(pause.reason == nil)
    #expect(pause.wait(at: at(1)) == nil)
    #expect(pause.refused(.badTopic, at: at(2), isTrial: false).wait == .seconds(30))
  }
}
