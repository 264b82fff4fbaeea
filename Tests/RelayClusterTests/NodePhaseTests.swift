// SPDX-License-Identifier: Apache-2.0
import Testing

@testable import RelayCluster

@Suite struct NodePhaseTests {
  typealias State = NodePhase.State
  typealias Event = NodePhase.Event

  static let doubt = Doubt(sequence: 5, gid: "a", alarm: .conflict(5))
  static let publish = Takeover.Action.publish(.term(1, 1), after: .zero)
  static let states: [State] = [
    .loading, .starting, .checking(nil), .checking(doubt), .following, .catchingUp,
    .publishing(checksAfterwards: false), .publishing(checksAfterwards: true),
  ]

  static let transitions: [(State, Event, State)] = [
    (.starting, .began(isFounding: false), .checking(nil)),
    (.checking(nil), .confirmed, .following),
    (.checking(doubt), .confirmed, .following),
    (.following, .doubted(doubt), .checking(doubt)),
    (.catchingUp, .doubted(doubt), .checking(doubt)),
    (.loading, .loaded, .starting),
    // A disconnect: the node checks its file, but not while its record is in flight.
    (.following, .disconnected, .checking(nil)),
    (.catchingUp, .disconnected, .checking(nil)),
    (.publishing(checksAfterwards: false), .disconnected, .publishing(checksAfterwards: true)),
    (.checking(doubt), .disconnected, .checking(doubt)),
    (.starting, .disconnected, .starting),
    (.loading, .disconnected, .loading),
    // A takeover
    (.following, .decided(.inspect(after: .zero), isPublishing: false), .following),
    (.following, .decided(.catchUp(to: 3), isPublishing: false), .catchingUp),
    (.following, .decided(publish, isPublishing: true), .publishing(checksAfterwards: false)),
    (.catchingUp, .decided(publish, isPublishing: true), .publishing(checksAfterwards: false)),
    (
      .publishing(checksAfterwards: true), .decided(.read(3, after: .zero), isPublishing: true),
      .publishing(checksAfterwards: true)
    ),
    (.catchingUp, .decided(.wait(until: .now), isPublishing: false), .following),
    (.publishing(checksAfterwards: false), .decided(.wait(until: .now), isPublishing: false), .following),
    (.publishing(checksAfterwards: true), .decided(.wait(until: .now), isPublishing: false), .checking(nil)),
    (.publishing(checksAfterwards: false), .decided(.compare, isPublishing: false), .checking(nil)),
    (.catchingUp, .decided(.compare, isPublishing: false), .checking(nil)),
  ]

  private func after(_ event: Event, in state: State) -> State {
    var phase = NodePhase(state)
    phase.take(event)
    return phase.state
  }

  @Test(arguments: transitions)
  func `each event leads to one state`(_ state: State, _ event: Event, _ next: State) {
    #expect(after(event, in: state) == next)
  }

  @Test(arguments: states) func `a snapshot replaces the file in any state, and a restart does not prevent it`(
    _ state: State
  ) {
    #expect(after(.needsSnapshot, in: state) == .loading)
    #expect(after(.restarted, in: state) == (state == .loading ? .loading : .starting))
  }

  @Test(arguments: states) func `only a record in flight keeps the node from reading records`(_ state: State) {
    let isInFlight = NodePhase(state).isPublishing
    if case .publishing = state { #expect(isInFlight) } else { #expect(!isInFlight) }
  }

  @Test(arguments: [Event.restarted, .needsSnapshot, .began(isFounding: false)])
  func `a node begins the cluster until it begins again`(_ end: Event) {
    var phase = NodePhase(.starting)
    phase.take(.began(isFounding: true))
    for event in [Event.confirmed, .disconnected, .confirmed, .decided(Self.publish, isPublishing: true)] {
      phase.take(event)
      #expect(phase.isFounding)
    }
    phase.take(end)
    #expect(!phase.isFounding)
  }

  @Test func `a condition is reported after its delay, and then once in each interval`() {
    let start = ContinuousClock.now
    var reminder = Reminder()
    func isDue(_ second: Int) -> Bool {
      reminder.isDue(at: start + .seconds(second), after: .seconds(10), every: .seconds(60))
    }
    #expect([0, 9, 10, 11, 69, 70, 71].filter(isDue) == [10, 70])
    reminder.postpone(to: start + .seconds(200))
    #expect([130, 199, 200].filter(isDue) == [200])
    reminder.end()
    reminder.postpone(to: start)
    #expect([300, 309, 310].filter(isDue) == [310])
    reminder.end()
    let isDueAtOnce = reminder.isDue(at: start, every: .seconds(60))
    #expect(isDueAtOnce)
  }
}
