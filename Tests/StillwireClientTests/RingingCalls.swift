// SPDX-License-Identifier: Apache-2.0
// The model of the recipe web/docs/guides/recipes/calls.md. RingingCallsTests compares both.
import Observation
import StillwireClient

@MainActor @Observable final class RingingCalls {
  private(set) var calls: [CallRecord] = []

  func follow(_ relay: Stillwire, me: UserID) async {
    for await event in relay.events() { apply(event, me: me) }
  }

  func apply(_ event: Event, me: UserID) {
    // After each connect the relay sends `ring` for each call that still rings, also if the app knows the call.
    if event == .stateChanged(.open) { calls = [] }
    guard case .frame(let frame) = event, let change = CallEvent(frame.members) else { return }
    let rings = change.cause == .ring && change.call.caller != me && !change.isMuted
    guard rings || change.user == me || change.call.ended != nil else { return }
    calls.removeAll { $0.message == change.call.message }
    if rings { calls.append(change.call) }
  }

  func answer(_ call: CallRecord, on relay: Stillwire) async throws {
    try await relay.room(call.message.room).answer(call.message.seq)
  }
}
