// SPDX-License-Identifier: Apache-2.0
import RelayHub
import Testing

@testable import RelayCommands

/// The late answers to clients that are refused for good.
struct RefusalPaceTests {
  private let start = ContinuousClock.now

  private func address(_ number: Int) -> ClientAddress {
    var bytes = SIMD16<UInt8>()
    for index in 0..<4 { bytes[15 - index] = UInt8(truncatingIfNeeded: number >> (8 * index)) }
    return ClientAddress(bytes)
  }

  @Test func `the answer to the third refusal within 10 s waits`() {
    var pace = RefusalPace()
    #expect(pace.refused(address(1), at: start) == false)
    #expect(pace.refused(address(1), at: start + .seconds(1)) == false)
    #expect(pace.refused(address(2), at: start + .seconds(2)) == false)
    #expect(pace.refused(address(1), at: start + .milliseconds(9_999)) == true)
    // The last three are within 9 s.
    #expect(pace.refused(address(1), at: start + .seconds(10)) == true)
    #expect(pace.waiting == 2)
  }

  @Test func `refusals with pauses are answered at once`() {
    var pace = RefusalPace()
    for second in 0..<20 { #expect(pace.refused(address(1), at: start + .seconds(5 * second)) == false) }
  }

  @Test func `the number of answers that wait is bounded`() {
    var pace = RefusalPace()
    for _ in 0..<2 { #expect(pace.refused(address(1), at: start) == false) }
    for _ in 0..<RefusalPace.maxWaiting { #expect(pace.refused(address(1), at: start) == true) }
    #expect(pace.refused(address(1), at: start) == false)
    pace.answered()
    #expect(pace.refused(address(1), at: start) == true)
    #expect(pace.waiting == RefusalPace.maxWaiting)
  }

  @Test func `the number of addresses is bounded`() {
    var pace = RefusalPace()
    for number in 0..<(2 * RefusalPace.maxAddresses) { _ = pace.refused(address(number), at: start) }
    #expect(pace.count == RefusalPace.maxAddresses)
    // A new address is answered at once, and the known ones still count.
    for _ in 0..<3 { #expect(pace.refused(address(2 * RefusalPace.maxAddresses), at: start) == false) }
    _ = pace.refused(address(0), at: start)
    #expect(pace.refused(address(0), at: start) == true)
    // After the window, the relay forgets them.
    let later = start + .seconds(11)
    for _ in 0..<2 { #expect(pace.refused(address(-1), at: later) == false) }
    #expect(pace.refused(address(-1), at: later) == true)
    #expect(pace.count == 1)
  }
}
