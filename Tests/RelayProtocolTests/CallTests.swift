// SPDX-License-Identifier: Apache-2.0
import Testing

@testable import RelayProtocol

/// The state machine of calls.
@Suite struct CallTests {
  private static let (ann, bob, carol) = (
    UserID(unchecked: "ann"), UserID(unchecked: "bob"), UserID(unchecked: "carol")
  )
  private static let (phone, tablet) = (DeviceID(unchecked: "phone"), DeviceID(unchecked: "tablet"))

  /// A request of a user, in a room with the members of `hasOthers`.
  struct Step: Sendable {
    let action: Call.Action
    let user: UserID
    var device: DeviceID?
    var sender: Call.Sender
    var hasOthers = false

    init(
      _ action: Call.Action, _ user: UserID, on device: DeviceID? = nil, from sender: Call.Sender = .request,
      hasOthers: Bool = false
    ) {
      (self.action, self.user, self.device, self.sender) = (action, user, device, sender)
      self.hasOthers = hasOthers
    }
  }

  enum Outcome: Equatable, Sendable {
    case state(Call.State)
    case unchanged(Call.State)
    case refused(Call.Refusal)
  }

  private static func call() -> Call {
    Call(
      MessageReference(room: RoomID(unchecked: "tea"), seq: 7), from: ann, media: .video,
      began: Timestamp(rawValue: 1_000), ringUntil: Timestamp(rawValue: 46_000))
  }

  private func perform(_ step: Step, _ call: inout Call, at time: Int64 = 2_000) -> Outcome {
    do throws(Call.Refusal) {
      let isChanged = try call.perform(
        step.action, by: step.user, on: step.device, from: step.sender, hasOthers: step.hasOthers,
        at: Timestamp(rawValue: time))
      return isChanged ? .state(call.state) : .unchanged(call.state)
    } catch {
      return .refused(error)
    }
  }

  /// The outcome of the last step, after the steps before it.
  static let table: [([Step], Outcome)] = [
    ([Step(.answer, bob, on: phone)], .state(.answered)),
    ([Step(.answer, ann)], .refused(.ownCall)),
    ([Step(.decline, ann)], .refused(.ownCall)),
    ([Step(.answer, bob, on: phone), Step(.answer, bob, on: tablet)], .refused(.answeredOn(phone))),
    ([Step(.answer, bob, on: phone), Step(.answer, bob, on: phone)], .unchanged(.answered)),
    // Sessions without a device count as one device.
    ([Step(.answer, bob), Step(.answer, bob)], .unchanged(.answered)),
    ([Step(.answer, bob), Step(.answer, bob, on: phone)], .refused(.answeredOn(nil))),
    ([Step(.answer, bob, on: phone), Step(.answer, bob)], .refused(.answeredOn(phone))),
    ([Step(.answer, bob, on: phone), Step(.decline, bob, on: tablet)], .refused(.answeredOn(phone))),
    // A group rings until all have answered or declined.
    ([Step(.answer, bob, hasOthers: true), Step(.answer, carol)], .state(.answered)),
    ([Step(.decline, bob, hasOthers: true)], .state(.ringing)),
    ([Step(.decline, bob, hasOthers: true), Step(.decline, bob, hasOthers: true)], .unchanged(.ringing)),
    ([Step(.decline, bob, hasOthers: true), Step(.answer, bob, hasOthers: true)], .state(.answered)),
    ([Step(.decline, bob, hasOthers: true), Step(.decline, carol)], .state(.declined)),
    ([Step(.answer, bob, hasOthers: true), Step(.decline, carol)], .state(.answered)),
    ([Step(.decline, bob)], .state(.declined)),
    ([Step(.decline, bob), Step(.answer, bob)], .refused(.over(.declined))),
    ([Step(.decline, bob), Step(.decline, bob)], .unchanged(.declined)),
    ([Step(.hangUp, ann)], .state(.cancelled)),
    ([Step(.hangUp, ann), Step(.hangUp, ann)], .unchanged(.cancelled)),
    ([Step(.hangUp, ann), Step(.answer, bob)], .refused(.over(.cancelled))),
    ([Step(.hangUp, ann), Step(.decline, bob)], .refused(.over(.cancelled))),
    // A member who has not answered declines.
    ([Step(.hangUp, bob)], .state(.declined)),
    ([Step(.hangUp, bob, hasOthers: true)], .state(.ringing)),
    ([Step(.answer, bob), Step(.hangUp, ann)], .state(.ended)),
    ([Step(.answer, bob), Step(.hangUp, bob)], .state(.ended)),
    ([Step(.answer, bob), Step(.answer, carol), Step(.hangUp, ann)], .state(.answered)),
    ([Step(.answer, bob), Step(.answer, carol), Step(.hangUp, ann), Step(.hangUp, ann)], .unchanged(.answered)),
    ([Step(.answer, bob), Step(.answer, carol), Step(.hangUp, ann), Step(.hangUp, carol)], .state(.ended)),
    // A user who has left may come back while others talk.
    (
      [Step(.answer, bob), Step(.answer, carol), Step(.hangUp, bob), Step(.answer, bob, on: phone)],
      .state(.answered)
    ),
  ]

  @Test(arguments: table) func `a request has one outcome`(steps: [Step], outcome: Outcome) throws {
    var call = Self.call()
    for step in steps.dropLast() { _ = perform(step, &call) }
    let before = call
    let last = perform(try #require(steps.last), &call)
    #expect(last == outcome)
    if case .state = outcome {} else { #expect(call == before) }
    #expect((call.due == nil) == call.state.isOver)
    #expect((call.ended != nil) == call.state.isOver)
  }

  private static let bothOpen = Call.Sender.session(open: [phone, tablet])
  private static let tabletOpen = Call.Sender.session(open: [tablet])
  private static let forPhone = Call.Sender.session(open: [phone, tablet], named: phone)
  private static let forWatch = Call.Sender.session(open: [phone, tablet], named: DeviceID(unchecked: "watch"))
  private static let onPhone = Step(.answer, bob, on: phone, from: bothOpen)
  private static let onPhoneByKey = Step(.answer, bob, on: phone, from: .request)
  private static let inBrowser = Step(.answer, bob, from: .session(open: [nil, tablet]))

  /// The last step is a hang-up after an answer on this device or another one.
  static let hangUps: [([Step], Outcome)] = [
    // The device that has answered, and the caller.
    ([onPhone, Step(.hangUp, bob, on: phone, from: bothOpen)], .state(.ended)),
    ([onPhone, Step(.hangUp, bob, on: phone, from: .request)], .state(.ended)),
    ([onPhoneByKey, Step(.hangUp, bob, on: phone, from: bothOpen)], .state(.ended)),
    ([inBrowser, Step(.hangUp, bob, from: .session(open: [nil]))], .state(.ended)),
    ([onPhone, Step(.hangUp, ann, on: tablet, from: tabletOpen)], .state(.ended)),
    // Another device, while the answering one is connected.
    ([onPhone, Step(.hangUp, bob, on: tablet, from: bothOpen)], .refused(.answeredOn(phone))),
    ([onPhone, Step(.hangUp, bob, from: .session(open: [nil, phone]))], .refused(.answeredOn(phone))),
    ([inBrowser, Step(.hangUp, bob, on: tablet, from: .session(open: [nil, tablet]))], .refused(.answeredOn(nil))),
    ([onPhone, Step(.answer, carol), Step(.hangUp, bob, on: tablet, from: bothOpen)], .refused(.answeredOn(phone))),
    // The session that has answered is gone. A request over HTTP may be the late one of a lost answer.
    ([onPhone, Step(.hangUp, bob, on: tablet, from: tabletOpen)], .state(.ended)),
    ([inBrowser, Step(.hangUp, bob, on: tablet, from: tabletOpen)], .state(.ended)),
    ([onPhone, Step(.hangUp, bob, on: tablet, from: .request)], .refused(.answeredOn(phone))),
    // A phone that has answered with its report key need not have a session.
    ([onPhoneByKey, Step(.hangUp, bob, on: tablet, from: .request)], .refused(.answeredOn(phone))),
    ([onPhoneByKey, Step(.hangUp, bob, on: tablet, from: tabletOpen)], .refused(.answeredOn(phone))),
    // A session hangs up for the device that it names, if this device has answered.
    ([onPhoneByKey, Step(.hangUp, bob, on: tablet, from: forPhone)], .state(.ended)),
    ([onPhone, Step(.hangUp, bob, on: tablet, from: forPhone)], .state(.ended)),
    ([onPhoneByKey, Step(.hangUp, bob, on: tablet, from: forWatch)], .refused(.answeredOn(phone))),
    ([inBrowser, Step(.hangUp, bob, on: tablet, from: forPhone)], .state(.ended)),
    // A backend that names no device, and an answer over HTTP without a device.
    ([onPhone, Step(.hangUp, bob, from: .backend)], .state(.ended)),
    ([Step(.answer, bob, from: .backend), Step(.hangUp, bob, on: tablet, from: .request)], .state(.ended)),
    // A late hang-up after the end.
    ([onPhone, Step(.hangUp, bob, on: phone), Step(.hangUp, bob, on: tablet)], .unchanged(.ended)),
  ]

  @Test func `a session that names another device before an answer declines on its own device`() {
    var call = Self.call()
    #expect(perform(Step(.hangUp, Self.bob, on: Self.tablet, from: Self.forPhone), &call) == .state(.declined))
    #expect(call.parties[Self.bob] == Call.Party(.declined, on: Self.tablet))
  }

  @Test(arguments: hangUps) func `only the device that has answered hangs up for its user`(
    steps: [Step], outcome: Outcome
  ) throws {
    try `a request has one outcome`(steps: steps, outcome: outcome)
  }

  @Test func `the end of a membership ends the part of each device`() {
    var call = Self.call()
    _ = perform(Self.onPhone, &call)
    let isChanged = call.exclude(Self.bob, hasOthers: false, at: Timestamp(rawValue: 3_000))
    #expect(isChanged && call.state == .ended)
    #expect(call.parties[Self.bob] == Call.Party(.left, on: Self.phone, answers: 1))
  }

  /// The end of a membership, after the steps before it.
  static let exclusions: [([Step], UserID, hasOthers: Bool, Call.State?, Call.Party.State?)] = [
    // The caller: nobody else could cancel the call.
    ([], ann, true, .cancelled, .left),
    ([Step(.answer, bob)], ann, true, .ended, .left),
    ([Step(.answer, bob), Step(.answer, carol)], ann, true, .answered, .left),
    ([Step(.answer, bob), Step(.answer, carol), Step(.hangUp, ann)], ann, true, nil, .left),
    // A user in the call.
    ([Step(.answer, bob)], bob, true, .ended, .left),
    ([Step(.answer, bob), Step(.answer, carol)], bob, true, .answered, .left),
    ([Step(.answer, bob), Step(.answer, carol), Step(.hangUp, bob)], bob, true, nil, .left),
    // The call rings for the member.
    ([], bob, true, .ringing, .declined),
    ([], bob, false, .declined, .declined),
    ([Step(.answer, carol)], bob, false, .answered, .declined),
    // A member who has declined, and calls that are over.
    ([Step(.decline, bob, hasOthers: true)], bob, false, nil, .declined),
    ([Step(.decline, bob)], bob, false, nil, .declined),
    ([Step(.hangUp, ann)], bob, false, nil, nil),
    ([Step(.hangUp, ann)], ann, false, nil, .left),
  ]

  @Test(arguments: exclusions) func `the end of a membership takes the user out of the call`(
    steps: [Step], user: UserID, hasOthers: Bool, state: Call.State?, party: Call.Party.State?
  ) {
    var call = Self.call()
    for step in steps { _ = perform(step, &call) }
    let before = call
    let isChanged = call.exclude(user, hasOthers: hasOthers, at: Timestamp(rawValue: 3_000))
    #expect(isChanged == (state != nil))
    #expect(call.state == state ?? before.state)
    #expect(call.parties[user]?.state == party)
    #expect((call.ended != nil) == call.state.isOver)
    if state == nil { #expect(call == before) }
    if isChanged { #expect(call.causeOfExclusion(of: user) == (party == .declined ? .decline : .hangUp)) }
  }

  /// The users who take part in the call after these steps.
  static let users: [([Step], [UserID])] = [
    ([], [ann]),
    ([Step(.answer, bob)], [ann, bob]),
    ([Step(.decline, bob, hasOthers: true)], [ann]),
    ([Step(.answer, bob), Step(.answer, carol), Step(.hangUp, bob)], [ann, carol]),
    ([Step(.answer, bob), Step(.answer, carol), Step(.hangUp, ann)], [bob, carol]),
    ([Step(.answer, bob), Step(.hangUp, ann)], []),
    ([Step(.hangUp, ann)], []),
    ([Step(.decline, bob)], []),
  ]

  @Test(arguments: users) func `the caller and the users who have answered take part, until they leave`(
    steps: [Step], users: [UserID]
  ) {
    var call = Self.call()
    for step in steps { _ = perform(step, &call) }
    #expect([Self.ann, Self.bob, Self.carol].filter(call.takesPart) == users)
  }

  @Test func `a call rings for members who have not answered, until its ringing is over`() {
    var call = Self.call()
    let (early, late) = (Timestamp(rawValue: 45_999), Timestamp(rawValue: 46_000))
    #expect(call.rings(for: Self.bob, at: early))
    #expect(!call.rings(for: Self.ann, at: early))
    _ = perform(Step(.answer, Self.bob), &call)
    #expect(!call.rings(for: Self.bob, at: early))
    #expect(call.rings(for: Self.carol, at: early))
    #expect(!call.rings(for: Self.carol, at: late))
    // A member who leaves the room after the ringing has nothing to decline.
    let isChanged = call.exclude(Self.carol, hasOthers: false, at: late)
    #expect(!isChanged)
    _ = perform(Step(.hangUp, Self.ann), &call)
    #expect(!call.rings(for: Self.carol, at: early))
  }

  @Test func `a user may answer a call again a limited number of times`() {
    var call = Self.call()
    _ = perform(Step(.answer, Self.carol), &call)
    for number in 1...Call.maxAnswers {
      let again = perform(Step(.answer, Self.bob), &call)
      #expect(again == .state(.answered), "answer \(number)")
      // A declined call and a left one count alike.
      let left = perform(Step(.hangUp, Self.bob), &call)
      #expect(left == .state(.answered))
      if number.isMultiple(of: 2) { _ = perform(Step(.decline, Self.bob), &call) }
    }
    let more = perform(Step(.answer, Self.bob), &call)
    #expect(more == .refused(.tooManyAnswers))
    #expect(call.parties[Self.bob]?.answers == Call.maxAnswers)
  }

  @Test func `a call has a limited number of users`() {
    var call = Self.call()
    for number in 1..<Call.maxMembers - 1 {
      _ = perform(Step(.decline, UserID(unchecked: "user-\(number)"), hasOthers: true), &call)
    }
    let last = perform(Step(.answer, Self.bob), &call)
    #expect(last == .state(.answered))
    for action in [Call.Action.answer, .decline, .hangUp] {
      let more = perform(Step(action, Self.carol, hasOthers: true), &call)
      #expect(more == .refused(.full))
    }
    let isChanged = call.exclude(Self.carol, hasOthers: true, at: Timestamp(rawValue: 3_000))
    #expect(!isChanged)
    // A user who has declined may still answer, and the caller may hang up.
    let known = perform(Step(.answer, UserID(unchecked: "user-1")), &call)
    #expect(known == .state(.answered))
    let hungUp = perform(Step(.hangUp, Self.ann), &call)
    #expect(hungUp == .state(.answered))
    #expect(call.parties.count == Call.maxMembers)
  }

  @Test func `the time ends a ringing and a long call, and nothing else`() {
    var call = Self.call()
    let early = call.expire(at: Timestamp(rawValue: 45_999))
    #expect(!early)
    var missed = call
    let isMissed = missed.expire(at: Timestamp(rawValue: 46_000))
    #expect(isMissed)
    #expect(missed.state == .missed)
    #expect(missed.ended == Timestamp(rawValue: 46_000))
    let again = missed.expire(at: Timestamp(rawValue: 99_000))
    #expect(!again)
    let late = perform(Step(.answer, Self.bob), &missed)
    #expect(late == .refused(.over(.missed)))

    let answered = perform(Step(.answer, Self.bob), &call)
    #expect(answered == .state(.answered))
    let end = Timestamp(rawValue: 2_000) + Call.maxDuration
    #expect(call.due == end)
    let ringingIsOver = call.expire(at: Timestamp(rawValue: 46_000))
    #expect(!ringingIsOver)
    let isOver = call.expire(at: end)
    #expect(isOver)
    #expect(call.state == .ended)
  }

  @Test(arguments: [(false, Call.State.cancelled), (true, .ended)])
  func `the deletion of its message ends a call`(isAnswered: Bool, state: Call.State) {
    var call = Self.call()
    if isAnswered { _ = perform(Step(.answer, Self.bob), &call) }
    let isDeleted = call.delete(at: Timestamp(rawValue: 3_000))
    #expect(isDeleted)
    #expect(call.state == state)
    let again = call.delete(at: Timestamp(rawValue: 4_000))
    #expect(!again)
  }
}
