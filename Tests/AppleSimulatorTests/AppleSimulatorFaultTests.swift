// SPDX-License-Identifier: Apache-2.0
import Testing

@testable import AppleSimulator

@Suite struct AppleSimulatorFaultTests {
  func script(_ faults: [AppleSimulator.Fault]) -> AppleSimulator.FaultScript {
    var script = AppleSimulator.FaultScript()
    script.replace(by: faults)
    return script
  }

  @Test func `the first fault for a device is used, as often as the script sets`() {
    var script = script([
      .init(.hang, tokens: ["a"], times: 2), .init(.answer(.init(.serviceUnavailable)), tokens: ["a", "b"]),
    ])
    #expect(script.strike("a") == .hang)
    #expect(script.strike("b") == .answer(.init(.serviceUnavailable)))
    #expect(script.strike("a") == .hang)
    #expect(script.strike("a") == .answer(.init(.serviceUnavailable)))
    #expect(script.strike("c") == nil)
  }

  @Test func `a fault affects its share of the requests`() {
    var script = script([.init(.resetConnection, share: 0.25)])
    let struck = (0..<10_000).count { _ in script.strike("a") != nil }
    #expect((2300...2700).contains(struck))
    script.replace(by: [.init(.resetConnection, share: 0)])
    #expect((0..<100).allSatisfy { _ in script.strike("a") == nil })
  }

  @Test func `a ring keeps the newest elements in order`() {
    var ring = AppleSimulator.Ring<Int>(capacity: 3)
    #expect(ring.inOrder == [])
    for number in 1...2 { ring.append(number) }
    #expect(ring.inOrder == [1, 2])
    for number in 3...8 { ring.append(number) }
    #expect(ring.inOrder == [6, 7, 8])
  }
}
