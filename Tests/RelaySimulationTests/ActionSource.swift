// SPDX-License-Identifier: Apache-2.0
import RelayDelivery
import RelayProtocol
import SeededRandom

/// Chooses random actions among those that are possible now.
struct ActionSource {
  private var random: SeededGenerator
  /// True if several clients may send requests at the same time.
  private let hasRaces: Bool

  init(seed: Int, hasRaces: Bool = true) {
    random = SeededGenerator(seed: seed)
    self.hasRaces = hasRaces
  }

  mutating func next(in simulation: Simulation) -> Action {
    let free = World.slots.filter { simulation.clients[$0] == nil }
    let used = World.slots.filter { simulation.clients[$0]?.isEnding == false }
    let talking = used.filter { simulation.clients[$0]?.isTalking == true }
    let slow = used.filter { simulation.clients[$0]?.isSlow == true }
    // Half of the slots are in use most of the time, which causes the most events.
    if !free.isEmpty, random.below(100) < (used.count < 3 ? 40 : used.count < 5 ? 10 : 3) {
      return .connect(random.one(of: free), acks: random.hits(oneIn: 2), activity: activity())
    }
    switch random.below(216) {
    case 0..<8 where !used.isEmpty: return .disconnect(random.one(of: used), random.one(of: Ending.allCases))
    case 8..<10 where !talking.isEmpty: return .freeze(random.one(of: talking))
    case 10..<16: return .answer(answer(), token: random.below(World.tokens.count))
    case 16..<20: return .letGo(hasSent: random.hits(oneIn: 2))
    case 20..<44: return .advance(time())
    case 44: return .pause(random.hits(oneIn: 3) ? longTime() : time())
    case 45 where random.hits(oneIn: 2): return .restart(after: time())
    case 46..<48: return .crash(at: point(), during: requests(talking, simulation), then: time(), after: time())
    case 48..<70: return .race(requests(talking, simulation))
    case 70..<74 where !talking.isEmpty && slow.isEmpty: return .slow(random.one(of: talking))
    case 70..<78 where !slow.isEmpty: return .catchUp(random.one(of: slow))
    case 78..<86 where !talking.isEmpty:
      let slot = random.one(of: talking)
      let request = request(slot, simulation)
      return request.isRepeatable ? .twice(slot, request) : .request(slot, request)
    default:
      guard !talking.isEmpty else { return .advance(time()) }
      let slot = random.one(of: talking)
      return .request(slot, request(slot, simulation))
    }
  }

  private mutating func activity() -> Activity {
    random.one(weighted: [(4, .active), (2, .idle), (2, .background)])
  }

  private mutating func after() -> After {
    random.one(weighted: [
      (10, .nothing), (4, .position), (8, .change), (1, .otherEpoch), (1, .tooFar), (1, .changeTooFar),
    ])
  }

  private mutating func answer() -> RecordingGateway.Answer {
    random.one(weighted: [
      (8, .sent), (4, .retry(after: nil)), (1, .retry(after: .seconds(600))), (3, .none), (2, .forget), (2, .dead),
    ])
  }

  /// Times at which a wait or a state ends, or slightly less.
  private mutating func time() -> Duration {
    random.one(weighted: [
      (4, .milliseconds(1)), (4, .milliseconds(100)), (4, .milliseconds(250)), (8, .seconds(1)), (6, .seconds(3)),
      (2, .milliseconds(2_999)),
      (4, .milliseconds(4_999)), (8, .seconds(5)), (4, .milliseconds(9_999)), (6, .seconds(10)), (3, .seconds(25)),
      (3, .seconds(30)), (4, .seconds(45)), (2, .seconds(60)), (1, .seconds(301)),
    ])
  }

  private mutating func longTime() -> Duration {
    random.one(weighted: [
      (3, .seconds(600)), (3, .seconds(12 * 3600 - 1)), (3, .seconds(12 * 3600)), (1, .seconds(8 * 24 * 3600)),
    ])
  }

  private mutating func point() -> Fuse.Point? {
    random.one(weighted: [
      (1, nil), (4, .commit(1, isDelivered: false)),
      (4, .commit(1 + random.below(4), isDelivered: random.hits(oneIn: 2))),
      (3, .handing(1 + random.below(2), isTaken: random.hits(oneIn: 2))),
    ])
  }

  /// At most one request of each user, so that the user's state is the one before or after this request.
  private mutating func requests(_ talking: [Slot], _ simulation: Simulation) -> [Action.SlotRequest] {
    let requests = World.users.compactMap { user -> Action.SlotRequest? in
      let slots = talking.filter { $0.user == user }
      guard !slots.isEmpty, !random.hits(oneIn: 3) else { return nil }
      let slot = random.one(of: slots)
      return Action.SlotRequest(slot: slot, request: request(slot, simulation))
    }
    return hasRaces ? requests : Array(requests.prefix(1))
  }

  private mutating func request(_ slot: Slot, _ simulation: Simulation) -> ClientRequest {
    let room = random.one(of: World.rooms)
    let hasCalls = simulation.model.rooms[room]?.calls.isEmpty == false
    if hasCalls, simulation.model.isMember(slot.user, of: room), random.hits(oneIn: 10) {
      return .call(room, random.one(of: Call.Action.allCases), back: random.one(weighted: [(8, 0), (2, 1), (1, 2)]))
    }
    if room == World.group, let request = governance(of: room, by: slot.user, simulation.model) { return request }
    guard simulation.clients[slot]?.receives(room) == true else {
      return random.hits(oneIn: 3)
        ? requestOfPerson(slot.user) : .join(room, after: after(), history: random.one(of: [0, 0, 1, 5, 300]))
    }
    switch random.below(86) {
    case 80..<82: return .edit(room, back: back())
    case 82..<84: return .delete(room, back: back())
    case 84..<86: return .read(room, back: back())
    case 0: return .leave(room, stays: false)
    case 1..<3: return .leave(room, stays: true)
    case 3..<5: return .join(room, after: after(), history: random.one(of: [0, 3, 300]))
    case 5..<23: return .send(room, key: random.hits(oneIn: 4) ? random.below(3) : nil, options())
    case 23..<28: return .received(room, back: back())
    case 28..<31: return .read(room, back: back())
    case 31..<36: return .activity(activity())
    case 36..<38: return .history(room, back: random.below(4), limit: 1 + random.below(5))
    case 38..<40: return .edit(room, back: back())
    case 40..<42: return .delete(room, back: back())
    case 42..<46: return .notify(room, back: back(), users: random.hits(oneIn: 4) ? [user()] : nil)
    case 46..<49: return .react(room, back: back(), key: random.below(World.reactions.count))
    case 49..<51: return .unreact(room, back: back(), key: random.below(World.reactions.count))
    case 51..<55: return .pin(room, back: back(), random.hits(oneIn: 2))
    default: return requestOfPerson(slot.user)
    }
  }

  /// A request about the members of the group.
  private mutating func governance(of room: RoomID, by own: UserID, _ model: Model) -> ClientRequest? {
    guard model.rooms[room]?.exists == true else { return .create(room) }
    guard random.hits(oneIn: model.rooms[room]?.role(of: own) == .member ? 40 : 6) else { return nil }
    let other = random.one(of: World.users.filter { $0 != own })
    let lasts: Duration? = random.one(weighted: [(1, nil), (3, .seconds(10)), (3, .seconds(45))])
    switch random.below(20) {
    case 0: return .create(room)
    case 1..<8: return .govern(room, .add(other))
    case 8..<11: return .govern(room, .remove(other))
    case 11..<13: return .govern(room, .ban(other, lasts: lasts))
    default:
      let user = random.hits(oneIn: 4) ? own : other
      return .govern(room, .role(user, random.one(of: RoomRole.allCases)))
    }
  }

  private mutating func back() -> Int { random.one(weighted: [(5, 0), (2, 1), (1, 3)]) }
  private mutating func user() -> UserID { random.one(of: World.users) }
  private mutating func label() -> String? { random.one(of: World.labels + [nil]) }

  /// Random options of a message. Half of the results have the defaults.
  private mutating func options() -> PushOptions {
    var options = PushOptions()
    guard random.hits(oneIn: 2) else { return options }
    options.mentions = World.users.filter { _ in random.hits(oneIn: 4) }
    options.replyBack = random.hits(oneIn: 4) ? random.below(3) : nil
    options.reports = random.hits(oneIn: 2)
    options.isRequested = !random.hits(oneIn: 8)
    // A message that requests no push has no options for it.
    guard options.isRequested else { return options }
    options.isCall = random.hits(oneIn: 6)
    options.level = random.one(weighted: [(8, .active), (2, .passive), (2, .timeSensitive), (1, .critical)])
    options.criteria = label()
    options.lifetime = random.one(weighted: [(10, nil), (1, .seconds(1)), (1, .seconds(10)), (1, .seconds(60))])
    return options
  }

  private mutating func requestOfPerson(_ own: UserID) -> ClientRequest {
    let device = random.one(of: World.devices)
    switch random.below(46) {
    case 40..<46: return .respond(device, back: back(), isDismissal: random.hits(oneIn: 2))
    case 0..<7: return .register(device, registration())
    case 7..<9: return .forget(device)
    case 9..<22: return focus()
    case 22..<27: return filter()
    case 27..<35: return .prefer(preference())
    case 35: return .watch(user())
    default:
      let other = random.one(of: World.users.filter { $0 != own })
      return random.hits(oneIn: 3) ? .block(other) : .unblock(other)
    }
  }

  private mutating func registration() -> Registration {
    Registration(
      token: random.below(World.tokens.count), criteria: random.hits(oneIn: 4) ? label() : nil,
      allowsAlerts: !random.hits(oneIn: 8), allowsTimeSensitive: !random.hits(oneIn: 4), rings: random.hits(oneIn: 3))
  }

  /// Random times and numbers of reports. Some clocks are slightly wrong, some are set ahead or back by hours or days,
  /// and some reports arrive shortly before they expire.
  private mutating func stamp() -> Stamp {
    if random.hits(oneIn: 4) {
      let ahead: Duration = random.one(weighted: [
        (4, .zero), (2, .seconds(-3600)), (2, .seconds(600)), (2, .seconds(40 * 24 * 3600)),
      ])
      return Stamp(at: ahead, number: .clock(ahead: ahead))
    }
    let at: Duration? = random.one(weighted: [
      (12, nil), (2, .zero), (2, .seconds(-5)), (1, .seconds(30)), (1, .seconds(61)), (1, .seconds(-12 * 3600)),
      (2, .seconds(-12 * 3600 + 3)), (2, .seconds(-12 * 3600 + 30)), (1, .seconds(-13 * 3600)),
    ])
    return Stamp(
      at: at, number: random.one(weighted: [(6, nil), (5, .next(1)), (1, .next(4)), (1, .next(0)), (1, .next(-1))]))
  }

  private mutating func focus() -> ClientRequest {
    .focus(
      random.one(of: World.reporters), random.one(weighted: [(5, true), (4, false), (1, nil)]),
      random.one(weighted: [(20, .authorized), (1, .denied), (1, .notDetermined)]), stamp())
  }

  private mutating func filter() -> ClientRequest {
    let allow: [String]? = random.one(weighted: [
      (3, nil), (2, []), (2, [World.labels[0]]), (2, [World.labels[1]]), (1, World.labels),
    ])
    return .filter(random.one(of: World.reporters), allow: allow, stamp())
  }

  private mutating func preference() -> Preference {
    let room = random.one(of: World.rooms)
    switch random.below(20) {
    case 0..<7: return .onFocus(random.one(weighted: [(4, .hold), (2, .passive), (2, .deliver)]))
    case 7..<10:
      let lasts: Duration? = random.one(weighted: [(1, nil), (2, .seconds(10)), (2, .seconds(45))])
      let level: RoomLevel = random.one(weighted: [(4, .all), (2, .mentions), (1, .none)])
      return .level(room, level, lasts: level == .all ? nil : lasts)
    case 10..<12: return .label(room, label())
    case 12..<16: return .quietHours(random.hits(oneIn: 2) ? quietHours() : nil)
    case 16..<18: return .shareFocus(random.one(of: Audience.allCases))
    default: return .shareOnline(random.one(of: Audience.allCases))
    }
  }

  private mutating func quietHours() -> QuietHoursOptions {
    QuietHoursOptions(
      start: random.one(weighted: [(3, 0), (2, 1), (2, -1), (1, -1439)]),
      minutes: random.one(weighted: [(4, 1), (2, 2), (1, 600), (1, 1440)]), zone: random.one(of: World.Zone.allCases),
      days: random.one(weighted: [(4, 0...6), (2, 0...0), (1, -1...(-1))]), mode: random.one(of: [.hold, .passive]))
  }
}
