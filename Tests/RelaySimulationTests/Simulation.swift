// SPDX-License-Identifier: Apache-2.0
import Foundation
import RelayDelivery
import RelayGateways
import RelayHub
import RelayJSON
import RelayProtocol

/// A relay with its clients, its gateway and its clock. It performs one step after the other. After each step the relay
/// is idle, and everything visible is compared with the model. Belongs to one thread.
///
/// All methods throw a ``Violation``, or another error if a frame cannot be parsed.
final class Simulation {
  private(set) var clients: [Slot: Client] = [:]
  /// The position that the clients of a slot have reached in a room, over all its connections.
  var positions: [Slot: [RoomID: Position]] = [:]
  /// The change up to which the clients of a slot have all changes of a room, over all its connections.
  var changePositions: [Slot: [RoomID: Int64]] = [:]
  var model = Model(start: VirtualClock.start)
  /// The model before the present step.
  private(set) var before = Model(start: VirtualClock.start)
  /// The models before and after the last step before the start.
  var former = (Model(start: VirtualClock.start), Model(start: VirtualClock.start))
  /// The time at which the present step began.
  private(set) var begun = VirtualClock.start
  /// The number of messages that the present step sends.
  private(set) var sends = 0
  /// The number of requests of the present step.
  private(set) var requests = 0
  /// The number of steps, including those of timers.
  private(set) var steps = 0
  let clock = VirtualClock()
  let gateway: RecordingGateway
  let fault: Fault?
  /// Checks that run at the end of the present step, when all frames are known: a client may receive the effect of a
  /// frame before another client receives the frame.
  var claims: [() throws -> Void] = []
  /// True in ``catchUp(_:)``: frames are not compared with the present model.
  private(set) var isLate = false
  /// The events of the present step that may have changed the members, bans or calls of a room.
  var roomEvents: [RoomID: [RoomEvent]] = [:]
  /// The requests of the present step that may have changed messages.
  var changeEvents: [RoomID: [ChangeEvent]] = [:]
  /// The changes of each room that a request of the present step has changed, see ``ChangeModel/orders(of:perhaps:)``.
  var changeStates: [RoomID: [ChangeModel]] = [:]
  /// The rooms of requests that had no reply before a crash. Their clients may lack a change that was older than the
  /// newest message that they received.
  var unansweredRooms: [Slot: RoomID] = [:]
  /// The newest change of each room that a client was shown.
  var shownChanges: [RoomID: Int64] = [:]
  /// The sender, the room and the options of each body.
  private(set) var drafts: [Int: Draft] = [:]
  var audit = Audit()
  /// Is `nil` when no transcript was requested.
  var transcript: Transcript?
  let parser = JSONParser(maxDepth: 100)

  struct Draft {
    let membership: Membership
    let options: PushOptions
  }

  private(set) var relay: SimulatedRelay
  private let root: String
  /// Is `nil` for a single node. The runs with an even seed are those of a cluster's leader.
  private let log: SimulatedLog?
  private let seed: Int
  private var generation = 0
  private var newestID = 0

  /// - Parameter seed: Determines the order of concurrent steps in the relay.
  init(seed: Int, fault: Fault? = nil) throws {
    self.seed = seed
    self.fault = fault
    gateway = RecordingGateway(clock: clock, fault: fault)
    let memory = "/dev/shm"
    let place = FileManager.default.fileExists(atPath: memory) ? memory : NSTemporaryDirectory()
    root = "\(place)/stillwire-simulation-\(UUID().uuidString)"
    log = seed.isMultiple(of: 2) ? SimulatedLog(root: root, clock: clock) : nil
    try log?.found("\(root)/0")
    relay = try Self.relay(root, 0, seed, clock, gateway, fault, log)
  }

  private static func relay(
    _ root: String, _ generation: Int, _ seed: Int, _ clock: VirtualClock, _ gateway: RecordingGateway,
    _ fault: Fault?, _ log: SimulatedLog?
  ) throws -> SimulatedRelay {
    try SimulatedRelay(
      folder: "\(root)/\(generation)", image: "\(root)/\(generation + 1)", journal: log, clock: clock,
      gateway: gateway, policy: fault?.policy ?? .init(), seed: seed &* 1_000 &+ generation)
  }

  /// Starts the next relay, on the files of the earlier one or on the image of its crash.
  func begin(isImage: Bool) throws {
    if isImage {
      try? FileManager.default.removeItem(atPath: "\(root)/\(generation)")
      generation += 1
    }
    audit.begin(isCrash: isImage)
    try log?.follow("\(root)/\(generation)", takesOver: isImage)
    relay = try Self.relay(root, generation, seed, clock, gateway, fault, log)
  }

  /// Ends the relay without checks.
  func close() {
    for client in clients.values { client.peer.cut() }
    clients = [:]
    relay.stop()
    try? FileManager.default.removeItem(atPath: root)
  }

  // MARK: Actions

  /// Performs an action. Returns false if it is not possible now, so that nothing was done.
  func perform(_ action: Action) throws -> Bool {
    switch action {
    case .connect(let slot, let acks, let activity):
      guard clients[slot] == nil else { return false }
      try step { try connect(slot, acks: acks, activity: activity) }
    case .disconnect(let slot, let ending):
      guard let client = clients[slot], !client.isEnding else { return false }
      try step {
        if client.isSlow, ending != .cut { try catchUp(client) }
        disconnect(client, ending)
      }
    case .freeze(let slot):
      guard let client = clients[slot], !client.isFrozen, !client.isSlow else { return false }
      client.isFrozen = true
    case .slow(let slot):
      guard let client = clients[slot], client.isTalking else { return false }
      client.isSlow = true
    case .catchUp(let slot):
      guard let client = clients[slot], client.isSlow else { return false }
      try step { try catchUp(client) }
    case .request(let slot, let request):
      let requests = possible([Action.SlotRequest(slot: slot, request: request)])
      guard !requests.isEmpty else { return false }
      try step { say(requests) }
    case .race(let requests):
      let requests = possible(requests)
      guard !requests.isEmpty else { return false }
      try step {
        relay.whileStill { say(requests) }
        relay.beginWork()
      }
    case .twice(let slot, let request):
      let requests = possible([Action.SlotRequest(slot: slot, request: request)])
      guard !requests.isEmpty else { return false }
      audit.tally.count(.repeated)
      try step { relay.whileStill { say(requests + requests) } }
    case .answer(let answer, let token):
      gateway.answer(answer, to: World.tokens[token])
    case .letGo(let hasSent):
      guard !gateway.waiting.isEmpty else { return false }
      try step { letGo(hasSent: hasSent) }
    case .advance(let time):
      try advance(by: time)
    case .pause(let time):
      try stand(still: time)
    case .restart(let pause):
      try restart(after: pause)
    case .crash(let point, let requests, let time, let pause):
      try crash(at: point, during: possible(requests), then: time, after: pause)
    }
    return true
  }

  private func possible(_ requests: [Action.SlotRequest]) -> [Action.SlotRequest] {
    var phones: [Int: UserID] = [:]
    var registered: Set<Int> = []
    let governed = Set(requests.compactMap { $0.request.governed == $0.slot.user ? nil : $0.request.governed })
    var governedRooms: Set<RoomID> = []
    return requests.filter { slotRequest in
      // A request of a user whose membership another user changes in the same step could count as before or after it.
      guard !governed.contains(slotRequest.slot.user) else { return false }
      if let room = slotRequest.request.room, slotRequest.request.governed != nil {
        guard governedRooms.insert(room).inserted else { return false }
      }
      // If two sessions register a token at once, either may be the last, so only one of them may.
      if case .register(_, let registration) = slotRequest.request, !registered.insert(registration.token).inserted {
        return false
      }
      // The order of two accounts' requests about their phone would matter, so only one account of a phone has any.
      let tokens = model.phones(of: slotRequest.request, by: slotRequest.slot.user)
      guard tokens.allSatisfy({ phones[$0, default: slotRequest.slot.user] == slotRequest.slot.user }) else {
        return false
      }
      for token in tokens { phones[token] = slotRequest.slot.user }
      guard let client = clients[slotRequest.slot], client.isTalking else { return false }
      if case .call(let room, _, let back) = slotRequest.request {
        return model.isMember(slotRequest.slot.user, of: room) && seq(ofCall: back, in: room) > 0
      }
      switch slotRequest.request {
      // Only a `create` makes the group.
      case .join(World.group, _, _): return model.rooms[World.group]?.exists == true
      case .create(let room): return room == World.group
      case .respond: return notification(of: slotRequest.request, slotRequest.slot.user) != nil
      default: break
      }
      guard slotRequest.request.needsRoom else { return true }
      guard let received = slotRequest.request.room.flatMap({ client.received[$0] }) else { return false }
      return !slotRequest.request.needsMessage || received > slotRequest.request.back
    }
  }

  private func connect(_ slot: Slot, acks: Bool, activity: Activity) throws {
    let client = try Client(slot: slot, port: relay.port)
    clients[slot] = client
    client.request(.hello(acks: acks, activity: activity), id: nextID()) {
      $0["type"] = "hello"
      $0["user"] = slot.user.rawValue
      $0["activity"] = activity.rawValue
      if acks { $0.bool("acks", true) }
    }
  }

  private func disconnect(_ client: Client, _ ending: Ending) {
    model.attendance.close(client.slot, isClean: ending == .clean, now: clock.now)
    client.isEnding = true
    switch ending {
    case .clean: client.peer.close(1000)
    case .goingAway: client.peer.close(1001)
    case .cut:
      client.peer.cut()
      clients[client.slot] = nil
    }
  }

  func say(_ requests: [Action.SlotRequest]) {
    self.requests = requests.count
    for slotRequest in requests {
      guard let client = clients[slotRequest.slot] else { continue }
      let (request, room) = (slotRequest.request, slotRequest.request.room)
      let id = nextID()
      let sentRequest = SentRequest(
        request: request, body: id, seq: seq(of: request, client),
        after: after(request, room.flatMap { positions[slotRequest.slot]?[$0] }),
        afterChange: afterChange(request, room.flatMap { changePositions[slotRequest.slot]?[$0] }), now: clock.now,
        number: model.newestNumber(of: request, slotRequest.slot.user),
        notification: notification(of: request, slotRequest.slot.user))
      note(sentRequest, slotRequest.slot.user)
      audit.tally.count(requested: request.name)
      client.request(.request(sentRequest), id: id, sentRequest.write)
    }
  }

  private func seq(of request: ClientRequest, _ client: Client) -> Int64 {
    if case .call(let room, _, let back) = request { return seq(ofCall: back, in: room) }
    let received = request.room.flatMap { client.received[$0] } ?? 0
    return max(0, received - Int64(request.back))
  }

  /// The newest message stands for a call that does not exist.
  private func seq(ofCall back: Int, in room: RoomID) -> Int64 {
    model.rooms[room]?.seq(back: back) ?? model.log(of: room).newest
  }

  /// Records what may be shown because of a request.
  private func note(_ sentRequest: SentRequest, _ user: UserID) {
    switch sentRequest.request {
    case .send(let room, _, var options):
      sends += 1
      let answered = sentRequest.replyTo.flatMap { model.log(of: room)[$0]?.from }
      options.answered = answered == user ? nil : answered
      drafts[sentRequest.body] = Draft(membership: Membership(room: room, user: user), options: options)
    case .edit(let room, _):
      guard model.log(of: room)[sentRequest.seq]?.from == user else { return }
      drafts[sentRequest.body] = Draft(membership: Membership(room: room, user: user), options: PushOptions())
      model.logs[room]?.requestEdit(sentRequest.seq, sentRequest.body)
    case .delete(let room, _):
      guard mayDelete(Place(room: room, seq: sentRequest.seq), user) != [false] else { return }
      model.logs[room]?.requestDelete(sentRequest.seq)
    default: break
    }
  }

  private func after(_ request: ClientRequest, _ position: Position?) -> Position? {
    guard case .join(_, let after, _) = request, var position else { return nil }
    switch after {
    case .nothing: return nil
    case .position, .change, .changeTooFar: break
    case .otherEpoch: position.epoch += "x"
    case .tooFar: position.seq += 1_000
    }
    return position
  }

  private func afterChange(_ request: ClientRequest, _ number: Int64?) -> Int64? {
    guard case .join(_, let after, _) = request, let number else { return nil }
    return switch after {
    case .nothing, .position, .otherEpoch, .tooFar: nil
    case .change: number
    case .changeTooFar: number + 1_000
    }
  }

  private func notification(of request: ClientRequest, _ user: UserID) -> String? {
    guard case .respond(let device, let back, _) = request else { return nil }
    return audit.phones.notifications(of: Target(user: user, device: device)).dropFirst(back).first
  }

  private func nextID() -> Int {
    newestID += 1
    return newestID
  }

  // MARK: Steps

  /// Performs a step: runs `body`, waits until the relay is idle, and checks the result.
  func step(_ body: () throws -> Void) throws {
    model.settle()
    before = model
    begun = clock.now
    claims = []
    sends = 0
    requests = 0
    steps += 1
    try body()
    try settle()
    transcript?.endStep()
    guard !relay.fuse.isBlown else { return }
    if let fault {
      try relay.fuse.spare { try fault.damage(relay) }
      audit.distrust()
    }
    try look()
  }

  /// Moves the time from one due timer or job to the next.
  func advance(by time: Duration) throws {
    let end = clock.now + time
    while !relay.fuse.isBlown {
      let due = [relay.nextTimer, relay.isWorking ? nil : audit.changes?.nextDue].compactMap { $0 }.min() ?? end
      guard due < end else { break }
      try step { relay.moveClock(to: max(due, clock.now)) }
    }
    guard !relay.fuse.isBlown else { return }
    try step { relay.moveClock(to: end) }
  }

  /// Suspends the process for this time.
  func stand(still time: Duration) throws {
    try step {
      relay.moveClock(to: clock.now + time)
      model.attendance.pause = clock.now
    }
  }

  /// Returns when only pushes that the gateway does not answer are pending, or when the relay was cut off.
  private func settle() throws {
    let patience = ContinuousClock.now + .seconds(120)
    while !relay.fuse.isBlown {
      relay.rest()
      if try receive() || relay.takeTurn() { continue }
      if clients.values.allSatisfy(\.pendingRequests.isEmpty), relay.isAtRest(sessions: clients.count) {
        // A read may have ended since the first rest. No reply follows its event, which the hub writes in this rest.
        relay.rest()
        if try receive() || relay.takeTurn() { continue }
        let changes = try audit.read(relay)
        if relay.isWorking {
          if !gateway.waiting.isEmpty { return }
        } else if let due = changes.nextDue, due <= clock.now {
          relay.beginWork()
          continue
        } else {
          return
        }
      }
      guard ContinuousClock.now < patience else {
        throw Violation(
          .answered, "the relay is not idle: \(clients.values.map { "\($0.slot): \($0.pendingRequests)" })")
      }
    }
  }

  /// Processes the frames that clients have received. Returns false if there were none.
  func receive() throws -> Bool {
    var hasReceived = false
    for slot in World.slots {
      guard let client = clients[slot] else { continue }
      let frames = client.peer.frames()
      hasReceived = hasReceived || !frames.isEmpty
      guard client.isSlow else {
        for frame in frames { try take(frame, for: client) }
        continue
      }
      client.heldUp += frames
      if frames.contains(where: \.endsSession) { try catchUp(client) }
    }
    return hasReceived
  }

  /// Takes the frames that a slow line has held up. They may describe a past state of other users, so the checks that
  /// they add to `claims`, `wrong` and `roles` are dropped.
  private func catchUp(_ client: Client) throws {
    let claims = claims
    isLate = true
    defer {
      isLate = false
      self.claims = claims
    }
    let frames = fault?.heldUp(client.heldUp) ?? client.heldUp
    let isOver = frames.contains(where: \.endsSession)
    for frame in frames {
      audit.tally.count(.lateFrame)
      // A pong after the end of the session confirms nothing.
      if isOver, case .ping = frame { continue }
      try take(frame, for: client)
    }
    client.heldUp = []
    client.isSlow = false
    client.wrong = [:]
    client.roles = [:]
    for place in client.hiddenCalls { client.calls[place] = nil }
    client.hiddenCalls = []
  }

  private func take(_ frame: Peer.Frame, for client: Client) throws {
    switch frame {
    case .text(let json):
      transcript?.add(json, to: client.slot, at: clock.now)
      try take(fault?.received(json) ?? json, for: client)
    case .ping(let payload):
      guard !client.isFrozen else { return }
      client.peer.pong(payload)
      guard let session = model.attendance.sessions[client.slot], !session.acks else { return }
      for (room, seq) in client.received { model.received(client.slot, room, upTo: seq, now: clock.now) }
    case .close(let code):
      guard client.isEnding else { throw Violation(.answered, "\(client.slot) gets a close \(code) without a bye") }
      if !client.isFrozen { client.peer.close(code) }
    case .end:
      clients[client.slot] = nil
      guard client.isEnding || relay.fuse.isBlown else { throw Violation(.answered, "\(client.slot) is cut") }
    }
  }
}
