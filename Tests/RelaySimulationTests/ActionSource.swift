// SPDX-License-Identifier: Apache-2.0
import RelayProtocol

/// Actions by chance, of those that are possible now.
struct ActionSource {
  private var random: SeededGenerator

  init(seed: Int) { random = SeededGenerator(seed: seed) }

  mutating func next(in simulation: Simulation) -> Action {
    let free = World.slots.filter { simulation.clients[$0] == nil }
    let used = World.slots.filter { simulation.clients[$0]?.isEnding == false }
    let talking = used.filter { simulation.clients[$0]?.isFrozen == false }
    // A house that is half full is the liveliest, and who comes wants to be in the rooms.
    if !free.isEmpty, random.below(100) < (used.count < 3 ? 40 : used.count < 5 ? 10 : 3) {
      return .connect(random.one(of: free), acks: random.hits(oneIn: 2), activity: activity())
    }
    switch random.below(200) {
    case 0..<8 where !used.isEmpty: return .disconnect(random.one(of: used), random.one(of: Ending.allCases))
    case 8..<10 where !talking.isEmpty: return .freeze(random.one(of: talking))
    case 10..<16: return .answer(answer(), token: random.below(World.tokens.count))
    case 16..<20: return .letGo(hasSent: random.hits(oneIn: 2))
    case 20..<44: return .advance(time())
    case 44: return .pause(time())
    case 45 where random.hits(oneIn: 2): return .restart(after: time())
    case 46..<48: return .crash(at: point(), during: asks(talking, simulation), then: time(), after: time())
    case 48..<70: return .race(asks(talking, simulation))
    default:
      guard !talking.isEmpty else { return .advance(time()) }
      let slot = random.one(of: talking)
      return .ask(slot, ask(slot, simulation))
    }
  }

  private mutating func activity() -> Activity {
    random.one(weighted: [(4, .active), (2, .idle), (2, .background)])
  }

  private mutating func after() -> After {
    random.one(weighted: [(10, .nothing), (10, .position), (1, .otherEpoch), (1, .tooFar)])
  }

  private mutating func answer() -> RecordingGateway.Answer {
    random.one(weighted: [
      (8, .sent), (4, .retry(after: nil)), (1, .retry(after: .seconds(600))), (3, .none), (2, .forget), (2, .dead),
    ])
  }

  /// The times at which something is over, and short before.
  private mutating func time() -> Duration {
    random.one(weighted: [
      (4, .milliseconds(1)), (4, .milliseconds(100)), (4, .milliseconds(250)), (8, .seconds(1)), (6, .seconds(3)),
      (4, .milliseconds(4_999)), (8, .seconds(5)), (4, .milliseconds(9_999)), (6, .seconds(10)), (3, .seconds(25)),
      (3, .seconds(30)), (4, .seconds(45)), (1, .seconds(301)),
    ])
  }

  private mutating func point() -> Fuse.Point? {
    random.one(weighted: [
      (1, nil), (4, .commit(1, isTold: false)), (4, .commit(1 + random.below(4), isTold: random.hits(oneIn: 2))),
      (3, .handing(1 + random.below(2), isTaken: random.hits(oneIn: 2))),
    ])
  }

  /// At most one of each user, whose state is then that before or after it.
  private mutating func asks(_ talking: [Slot], _ simulation: Simulation) -> [Action.Asked] {
    World.users.compactMap { user in
      let slots = talking.filter { $0.user == user }
      guard !slots.isEmpty, !random.hits(oneIn: 3) else { return nil }
      let slot = random.one(of: slots)
      return Action.Asked(slot: slot, ask: ask(slot, simulation))
    }
  }

  private mutating func ask(_ slot: Slot, _ simulation: Simulation) -> Ask {
    let room = random.one(of: World.rooms)
    guard simulation.clients[slot]?.hears(room) == true else {
      return random.hits(oneIn: 5)
        ? ask(ofDevice: slot)
        : .join(room, after: after(), history: random.one(of: [0, 0, 1, 5, 300]))
    }
    switch random.below(44) {
    case 0: return .leave(room, stays: false)
    case 1..<3: return .leave(room, stays: true)
    case 3..<5: return .join(room, after: after(), history: random.one(of: [0, 3, 300]))
    case 5..<21: return .send(room, key: random.hits(oneIn: 4) ? random.below(3) : nil)
    case 21..<27: return .received(room, back: random.one(weighted: [(4, 0), (1, 1), (1, 3)]))
    case 27..<31: return .read(room, back: random.one(weighted: [(3, 0), (1, 1), (1, 3)]))
    case 31..<37: return .activity(activity())
    case 37..<39: return .history(room, back: random.below(4), limit: 1 + random.below(5))
    default: return ask(ofDevice: slot)
    }
  }

  private mutating func ask(ofDevice slot: Slot) -> Ask {
    let device = random.one(of: World.devices)
    return random.hits(oneIn: 4) ? .forget(device) : .register(device, token: random.below(World.tokens.count))
  }
}
