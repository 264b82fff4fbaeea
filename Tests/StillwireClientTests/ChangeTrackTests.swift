// SPDX-License-Identifier: Apache-2.0
// Tests the numbers of the changes that the app has.
import RelayJSON
import Testing

@testable import StillwireClient

@Suite struct ChangeTrackTests {
  private func joined(_ change: Int64?, _ changes: [Int64] = []) -> ChangeTrack {
    var reply: [String: JSON] = ["changes": .array(changes.map { ["change": .number(String($0))] })]
    reply["change"] = change.map { .number(String($0)) }
    return ChangeTrack(joined: .object(reply))
  }

  @Test func `each change arrives once`() {
    var track = joined(3)
    #expect(track.arrived(3) == false)
    #expect(track.arrived(4) == true)
    #expect(track.arrived(4) == false)
    #expect(track.newest == 4)
  }

  @Test func `the position stays before a change whose reply is missing`() {
    var track = joined(0)
    for change in [2, 3, 5] as [Int64] { #expect(track.arrived(change) == true) }
    #expect(track.newest == 0)
    #expect(track.has(2) && !track.has(1) && !track.has(4))
    #expect(track.arrived(1) == true)
    #expect(track.newest == 3)
    #expect(track.arrived(4) == true)
    #expect(track.newest == 5)
  }

  @Test func `a reply may contain changes after its number`() {
    let track = joined(3, [2, 5, 4])
    #expect(track.newest == 5)
  }

  @Test func `without numbers every change is new`() {
    var track = joined(nil, [1])
    for change in [1, 1, nil] as [Int64?] { #expect(track.arrived(change) == true) }
    #expect(track.newest == nil)
  }

  @Test func `the number of stored changes is limited`() {
    var track = joined(0)
    for change in 2...Int64(ChangeTrack.maxAhead + 2) { #expect(track.arrived(change) == true) }
    #expect(track.has(Int64(ChangeTrack.maxAhead + 1)))
    // It is new again, because it was not stored.
    #expect(track.arrived(Int64(ChangeTrack.maxAhead + 2)) == true)
    #expect(track.arrived(1) == true)
    #expect(track.newest == Int64(ChangeTrack.maxAhead + 1))
  }
}
