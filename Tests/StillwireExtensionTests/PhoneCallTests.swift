// SPDX-License-Identifier: Apache-2.0
// Tests the life of an incoming call on a phone: each input in each phase, and the end that the relay's call states.
import Foundation
import RelayJSON
import RelayProtocol
import Testing

@testable import StillwireExtension

@Suite struct PhoneCallTests {
  private static func json(_ text: String) -> JSON { JSON(reading: text.utf8) ?? .null }

  private static let call = IncomingCall(
    json(
      """
      {"call":"DD03C85B-FE98-48F9-98B0-2DA51FBEEED8","ringUntil":1700000045000,"ringFor":45000,"data":{\
      "communication":{"kind":"call","sender":{"id":"ann"},"conversation":{"id":"tea"}},\
      "message":{"room":"tea","seq":7}}}
      """))!

  /// A call of Ann as the relay writes it. The part of Bob is that of this user.
  private static func record(_ state: Call.State, bob: String? = nil, seq: Int = 7) -> CallRecord {
    let users = bob.map { #"{"user":"bob","state":"\#($0)","device":"tablet"}"# } ?? ""
    return CallRecord(
      json(
        """
        {"room":"tea","seq":\(seq),"from":"ann","media":"audio","state":"\(state.rawValue)","time":1700000000000,\
        "ringUntil":1700000045000,"users":[\(users)]}
        """))!
  }

  private static func event(_ cause: Call.Cause, _ state: Call.State, by user: String) -> PhoneCall.Input {
    let frame = json(
      """
      {"type":"call","event":"\(cause.rawValue)","user":"\(user)","room":"tea","seq":7,"from":"ann",\
      "media":"audio","state":"\(state.rawValue)","time":1700000000000,"ringUntil":1700000045000}
      """)
    return .changed(CallEvent(frame)!, "bob")
  }

  /// The inputs that lead to each phase.
  private static let inputs: [PhoneCall.Phase: [PhoneCall.Input]] = [
    .ringing: [], .answering: [.accepted], .conflicted: [.accepted, .replied(.conflict)],
    .answered: [.accepted, .replied(.accepted)], .leaving: [.accepted, .ended], .silenced: [.notShown(.focus)],
    .over: [.ended],
  ]

  private static func phone(in phase: PhoneCall.Phase) -> PhoneCall {
    var phone = PhoneCall(call)
    for input in inputs[phase] ?? [] { _ = phone.apply(input) }
    return phone
  }

  @Test(arguments: PhoneCall.Phase.allCases) func `a call has each phase`(_ phase: PhoneCall.Phase) {
    #expect(Self.phone(in: phase).phase == phase)
    #expect(Self.phone(in: phase).isActive == ![.leaving, .silenced, .over].contains(phase))
  }

  typealias Row = (
    PhoneCall.Phase, PhoneCall.Input, then: PhoneCall.Phase, effects: [PhoneCall.Effect]
  )

  /// A phase, an input, the next phase and the effects. All other inputs change nothing.
  static let rows: [Row] = [
    // The person.
    (.ringing, .accepted, .answering, [.send(.answer)]),
    (.ringing, .ended, .over, [.finish, .send(.decline)]),
    (.answering, .ended, .leaving, [.finish]),
    (.conflicted, .ended, .over, [.finish]),
    (.answered, .ended, .over, [.finish, .send(.hangUp)]),
    // CallKit.
    (.ringing, .discarded, .over, [.finish]),
    (.answering, .discarded, .leaving, [.finish]),
    (.conflicted, .discarded, .over, [.finish]),
    (.answered, .discarded, .over, [.finish, .send(.hangUp)]),
    (.ringing, .notShown(.focus), .silenced, [.finish, .showMissed]),
    (.ringing, .notShown(.failed), .silenced, [.finish, .showMissed]),
    (.ringing, .notShown(.blocked), .over, [.finish]),
    (.ringing, .notShown(.duplicate), .over, [.finish]),
    (.answering, .notShown(.focus), .leaving, [.finish]),
    (.conflicted, .notShown(.focus), .over, [.finish]),
    (.answered, .notShown(.focus), .over, [.finish]),
    // A call that the phone has not shown: the notification stays, unless another device of the user has the call.
    (.silenced, event(.answer, .answered, by: "bob"), .over, [.removeMissed]),
    (.silenced, event(.hangUp, .cancelled, by: "ann"), .over, []),
    (.silenced, .timedOut, .over, []),
    (.silenced, .read(record(.missed), "bob"), .over, []),
    (.silenced, .read(record(.missed), nil), .over, []),
    (.silenced, .read(record(.cancelled), nil), .over, []),
    (.silenced, .read(record(.ended), "bob"), .over, []),
    (.silenced, .read(record(.answered, bob: "answered"), "bob"), .over, [.removeMissed]),
    (.silenced, .read(record(.declined, bob: "declined"), "bob"), .over, [.removeMissed]),
    (.silenced, .read(record(.declined, bob: "declined"), nil), .over, [.removeMissed]),
    (.ringing, .dismissed, .over, []),
    (.answering, .dismissed, .leaving, []),
    (.conflicted, .dismissed, .over, []),
    (.answered, .dismissed, .over, []),
    // The clock: without any event, the phone rings until the end of the ringing, and not longer.
    (.ringing, .timedOut, .over, [.report(.unanswered), .finish]),
    // The reply to the answer.
    (.answering, .replied(.accepted), .answered, [.begin]),
    (.answering, .replied(.conflict), .conflicted, [.read]),
    (.answering, .replied(.refused), .over, [.report(.failed), .finish]),
    (.answering, .replied(.lost), .over, [.report(.failed), .finish, .send(.hangUp)]),
    (.leaving, .replied(.accepted), .over, [.send(.hangUp)]),
    (.leaving, .replied(.lost), .over, [.send(.hangUp)]),
    (.leaving, .replied(.conflict), .over, []),
    (.leaving, .replied(.refused), .over, []),
    // Events.
    (.ringing, event(.answer, .answered, by: "bob"), .over, [.report(.answeredElsewhere), .finish]),
    (.conflicted, event(.answer, .answered, by: "bob"), .over, [.report(.answeredElsewhere), .finish]),
    (.ringing, event(.hangUp, .cancelled, by: "ann"), .over, [.report(.remoteEnded), .finish]),
    (.answering, event(.hangUp, .cancelled, by: "ann"), .leaving, [.report(.remoteEnded), .finish]),
    (.conflicted, event(.hangUp, .cancelled, by: "ann"), .over, [.report(.remoteEnded), .finish]),
    (.answered, event(.hangUp, .cancelled, by: "ann"), .over, [.report(.remoteEnded), .finish]),
    // The call was read after a conflict: the phone shows the true end.
    (.conflicted, .read(record(.answered, bob: "answered"), "bob"), .over, [.report(.answeredElsewhere), .finish]),
    (.conflicted, .read(record(.answered, bob: "answered"), nil), .over, [.report(.answeredElsewhere), .finish]),
    (.conflicted, .read(record(.declined, bob: "declined"), "bob"), .over, [.report(.declinedElsewhere), .finish]),
    (.conflicted, .read(record(.declined, bob: "declined"), nil), .over, [.report(.declinedElsewhere), .finish]),
    (.conflicted, .read(record(.missed), nil), .over, [.report(.unanswered), .finish]),
    (.conflicted, .read(record(.cancelled), nil), .over, [.report(.remoteEnded), .finish]),
    (.conflicted, .read(record(.ended), "bob"), .over, [.report(.remoteEnded), .finish]),
    (.conflicted, .readFailed(.gone), .over, [.report(.remoteEnded), .finish]),
    (.conflicted, .readFailed(.unknown), .over, [.report(.failed), .finish]),
    // The call was read after a connect, or when the push arrived.
    (.ringing, .read(record(.cancelled), nil), .over, [.report(.remoteEnded), .finish]),
    (.ringing, .read(record(.missed), "bob"), .over, [.report(.unanswered), .finish]),
    (.ringing, .read(record(.answered, bob: "answered"), "bob"), .over, [.report(.answeredElsewhere), .finish]),
    (.ringing, .readFailed(.gone), .over, [.report(.remoteEnded), .finish]),
    (.answering, .read(record(.ended), "bob"), .leaving, [.report(.remoteEnded), .finish]),
    (.answering, .readFailed(.gone), .leaving, [.report(.remoteEnded), .finish]),
    (.answered, .read(record(.ended), "bob"), .over, [.report(.remoteEnded), .finish]),
    (.answered, .readFailed(.gone), .over, [.report(.remoteEnded), .finish]),
    // A removal from the room, for example, has ended the user's part of a call that goes on.
    (.answered, .read(record(.answered, bob: "left"), "bob"), .over, [.report(.remoteEnded), .finish]),
  ]

  @Test(arguments: rows.indices) func `an input in a phase has a next phase and effects`(_ index: Int) {
    let (phase, input, next, effects) = Self.rows[index]
    var phone = Self.phone(in: phase)
    #expect(phone.apply(input) == effects, "\(phase) \(input)")
    #expect(phone.phase == next, "\(phase) \(input)")
  }

  /// Inputs of which each phase without a row ignores all.
  static let kinds: [PhoneCall.Input] =
    [.accepted, .ended, .discarded, .notShown(.focus), .dismissed, .timedOut]
    + PhoneCall.Reply.allCases.map { .replied($0) }
    + PhoneCall.ReadFailure.allCases.map { .readFailed($0) } + [
      event(.ring, .ringing, by: "ann"), event(.answer, .answered, by: "bob"), .read(record(.ringing), "bob"),
      .read(record(.cancelled, seq: 8), "bob"),
    ]

  @Test func `all other inputs change nothing`() {
    var ignored = 0
    for phase in PhoneCall.Phase.allCases {
      for input in Self.kinds where !Self.rows.contains(where: { $0.0 == phase && $0.1 == input }) {
        // A conflict with a call that continues: another device has answered.
        if phase == .conflicted, case .read = input { continue }
        var phone = Self.phone(in: phase)
        #expect(phone.apply(input) == [], "\(phase) \(input)")
        #expect(phone.phase == phase, "\(phase) \(input)")
        ignored += 1
      }
    }
    #expect(ignored > 40)
  }

  /// The state of the call, the part of the user, and the end on the phone: while it rings, and after the person has
  /// accepted there.
  static let ends: [(Call.State, bob: String?, ringing: IncomingCall.End?, accepted: IncomingCall.End?)] = [
    (.ringing, nil, nil, nil),
    (.ringing, "declined", .declinedElsewhere, nil),
    (.answered, nil, nil, nil),
    (.answered, "answered", .answeredElsewhere, nil),
    (.answered, "declined", .declinedElsewhere, nil),
    (.answered, "left", .remoteEnded, nil),
    (.declined, "declined", .declinedElsewhere, .declinedElsewhere),
    (.declined, nil, .remoteEnded, .remoteEnded),
    (.missed, nil, .unanswered, .unanswered),
    (.cancelled, nil, .remoteEnded, .remoteEnded),
    (.ended, nil, .remoteEnded, .remoteEnded),
    (.ended, "left", .remoteEnded, .remoteEnded),
  ]

  @Test(arguments: ends.indices) func `a call that was read ends the ringing of a phone`(_ index: Int) {
    let (state, bob, ringing, accepted) = Self.ends[index]
    let record = Self.record(state, bob: bob)
    #expect(Self.call.end(in: record, of: "bob", isAccepted: false) == ringing)
    #expect(Self.call.end(in: record, of: "bob", isAccepted: true) == accepted)
    #expect(Self.call.end(in: Self.record(state, bob: bob, seq: 8), of: "bob", isAccepted: false) == nil)
    if !state.isOver { #expect(Self.call.end(in: record, of: nil, isAccepted: false) == nil) }
  }

  /// Two accounts of a phone are members of the same room, and the phone follows the client of the other one.
  @Test func `the end of a call depends on the user for whom it rings`() throws {
    var call = Self.call
    call.payload.recipient = "bob"
    let record = Self.record(.answered, bob: "declined")
    #expect(call.end(in: record, of: "eve", isAccepted: false) == .declinedElsewhere)
    #expect(Self.call.end(in: record, of: "eve", isAccepted: false) == nil)
    guard case .changed(let event, _) = Self.event(.answer, .answered, by: "eve") else { return }
    #expect(call.end(after: event, of: "eve", isAccepted: false) == nil)
    #expect(Self.call.end(after: event, of: "eve", isAccepted: false) == .answeredElsewhere)
    var phone = PhoneCall(call)
    _ = phone.apply(.accepted)
    _ = phone.apply(.replied(.accepted))
    #expect(phone.apply(.read(Self.record(.answered, bob: "left"), "eve")) == [.report(.remoteEnded), .finish])
  }

  @Test(arguments: [
    (StillwireError(.conflict, ""), PhoneCall.Reply.conflict), (StillwireError(.forbidden, ""), .refused),
    (StillwireError(.notFound, ""), .refused), (StillwireError(.rateLimited, ""), .refused),
    (StillwireError(.unavailable, ""), .lost), (StillwireError(.internal, ""), .lost),
    (StillwireError(.unreachable, ""), .lost), (StillwireError(.malformed, ""), .lost), (.timeout, .lost),
  ])
  func `an error of the answer has a result`(_ error: StillwireError, _ reply: PhoneCall.Reply) {
    #expect(PhoneCall.Reply(error) == reply)
    #expect(PhoneCall.Reply(CancellationError()) == .lost)
  }

  @Test func `a call is gone if it does not exist or the user has left the room`() {
    #expect(PhoneCall.ReadFailure(StillwireError(.notFound, "")) == .gone)
    #expect(PhoneCall.ReadFailure(StillwireError(.notJoined, "")) == .gone)
    #expect(PhoneCall.ReadFailure(StillwireError(.forbidden, "")) == .unknown)
    #expect(PhoneCall.ReadFailure(StillwireError.closed) == .unknown)
  }

  @Test func `the phone sends the end of a call several times within a minute`() {
    #expect(PhoneCall.attempts.first == .zero && PhoneCall.attempts.count == 6)
    #expect(PhoneCall.attempts.reduce(.zero, +) < .seconds(60))
  }
}
