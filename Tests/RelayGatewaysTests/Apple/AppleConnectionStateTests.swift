// SPDX-License-Identifier: Apache-2.0
import Testing

@testable import RelayGateways

@Suite struct AppleConnectionStateTests {
  private var state = AppleConnectionState<String>(maxStreams: 4)

  /// Brings the connection to the phase `open`. `streams` is the limit that the service sets.
  private mutating func open(_ streams: Int? = nil) {
    state.settingsArrived(streams: streams)
    let stream = state.begin("proof")
    #expect(state.answered(stream, proves: true) == "proof")
  }

  @Test func `nothing is sent before the service's SETTINGS arrive`() {
    #expect(state.phase == .connecting)
    #expect(state.room == 0)
  }

  @Test mutating func `one stream is allowed until the service accepts the token`() {
    state.settingsArrived(streams: 1000)
    #expect(state.room == 1)
    let first = state.begin("a")
    #expect(state.room == 0)
    #expect(state.answered(first, proves: false) == "a")
    #expect(state.phase == .unproven)
    #expect(state.room == 1)
    let second = state.begin("b")
    #expect((first, second) == (1, 3))
    _ = state.answered(second, proves: true)
    #expect(state.phase == .open)
    #expect(state.room == 4)
  }

  @Test(arguments: [(nil, 4), (1000, 4), (2, 2), (0, 0)] as [(Int?, Int)])
  mutating func `the service and the relay both limit the streams`(_ allowed: Int?, _ room: Int) {
    state.settingsArrived(streams: nil)
    _ = state.answered(state.begin("proof"), proves: true)
    state.settingsArrived(streams: allowed)
    #expect(state.room == room)
  }

  @Test mutating func `SETTINGS that allow fewer streams than are in use leave no capacity`() {
    open()
    for request in ["a", "b", "c"] { _ = state.begin(request) }
    state.settingsArrived(streams: 1)
    #expect(state.room == 0)
    #expect(state.requests.count == 3)
  }

  @Test mutating func `a GOAWAY returns the unprocessed requests, and the others can be answered`() {
    open()
    let streams = ["a", "b", "c", "d"].map { state.begin($0) }
    #expect(state.goAwayArrived(last: streams[1]) == ["c", "d"])
    #expect(state.phase == .draining)
    #expect(state.room == 0)
    #expect(!state.isSpent)
    #expect(state.answered(streams[0], proves: true) == "a")
    #expect(state.phase == .draining)
    #expect(state.closed() == ["b"])
    #expect(state.phase == .closed)
  }

  @Test mutating func `a second GOAWAY may return more requests`() {
    open()
    let streams = ["a", "b"].map { state.begin($0) }
    #expect(state.goAwayArrived(last: AppleConnectionState<String>.lastStream) == [])
    #expect(state.goAwayArrived(last: streams[0]) == ["b"])
    #expect(state.goAwayArrived(last: 0) == ["a"])
    #expect(state.isSpent)
  }

  @Test mutating func `a closed connection returns its unanswered requests once`() {
    open()
    for request in ["a", "b"] { _ = state.begin(request) }
    #expect(state.closed() == ["a", "b"])
    #expect(state.closed() == [])
    state.retire()
    #expect(state.phase == .closed)
  }

  @Test mutating func `a stream ends once`() {
    open()
    let stream = state.begin("a")
    #expect(state.ended(stream) == "a")
    #expect(state.ended(stream) == nil)
    #expect(state.answered(stream, proves: true) == nil)
  }
}
