// SPDX-License-Identifier: Apache-2.0
package import Logging
import RelayDelivery
package import RelayFollowers
package import RelayHub
package import RelayIdentity
import RelayProtocol
package import RelayPush
package import RelayRequests
package import RelayState
package import RelayStore

/// All components above the hub, and the order of their work. They make the decisions: rights, storage, pushes.
///
/// It makes the components, gives each of them the components that it calls, dispatches the hub's events to them, and
/// passes changes on to the followers. The components hold the state.
package final class Relay: ChangePublisher {
  package let gateways: Gateways
  package let worker: PushWorker
  package let http: any HTTPHandler

  package let zones: Zones
  package let memory: RoomMemory
  package let recipients: Recipients
  package let access: Access
  package let late: LateWriter
  package let restrictions: Restrictions
  package let people: People
  package let presenceStreams = PresenceStreams()
  package let backends = Backends()
  package let invitations: Invitations
  package let rooms: Rooms
  package let inbox: Inbox
  package let deliveries: Deliveries
  package let responses: Responses
  package let erasures: Erasures
  package let messages: Messages
  package let calls: Calls
  package let audit: AuditLog
  private let clockSteps: ClockSteps
  /// The components that act on each change, in this order: the rooms show it in the hub, which sends the events, the
  /// sender of a message gets the reply, and all others follow. ``Follower`` has the time of each change.
  let followers:
    Followers<
      Rooms, SenderReplies, Inbox, Calls, Deliveries, People, Invitations, LateWriter, AuditLog, Restrictions
    >
  var refusalPace = RefusalPace()
  /// The member `limits` of each `welcome`.
  private(set) var limitsText: [UInt8]
  /// Signals the end of the last session or HTTP request, and the end of a flush.
  fileprivate let ends = EndSignal()
  /// True until the hub has delivered the events of ``Core/flush()``.
  fileprivate var isFlushing = false
  /// True from the moment at which the relay receives the hub's events.
  fileprivate var isAccepting = false

  fileprivate init(
    _ store: Store, _ settings: RelaySettings, _ gateways: Gateways, _ worker: PushWorker, _ http: any HTTPHandler
  ) {
    (self.gateways, self.worker, self.http) = (gateways, worker, http)
    limitsText = Replies.limits(settings.limits)
    zones = Zones(settings.timeZones, worker)
    memory = RoomMemory()
    recipients = Recipients()
    access = Access(memory, recipients)
    late = LateWriter(memory, recipients)
    restrictions = Restrictions(access)
    people = People(recipients, access, restrictions, late, zones, Uninvited())
    invitations = Invitations(memory, people)
    rooms = Rooms(memory, access, people, invitations, backends)
    inbox = Inbox(access)
    deliveries = Deliveries(memory, people, inbox, worker)
    responses = Responses(access, receipts: ReceiptKey(store.secret))
    erasures = Erasures(rooms, inbox)
    messages = Messages(rooms, deliveries, responses, erasures)
    calls = Calls(rooms, recipients, messages)
    audit = AuditLog(erasures)
    clockSteps = ClockSteps(deliveries, worker)
    followers = Followers(
      rooms, SenderReplies(messages), inbox, calls, deliveries, people, invitations, late, audit, restrictions)
    http.use(settings)
    deliveries.use(settings)
    worker.use(settings.push(zones.current))
    gateways.use(settings)
  }

  /// Passes a change on to the followers.
  package func publish(_ change: Change, on core: isolated Core) {
    followers.follow(change, on: core)
  }

  // MARK: The start

  /// Starts the relay, in this order:
  ///
  /// 1. Give up the undecided pushes of rooms that keep no messages any more, before a request can load these rooms.
  /// 2. Load the state that requests need: zones, categories, restrictions, users who may return, calls, erasures.
  /// 3. Accept requests. The rest of the start runs beside them.
  /// 4. Decide again what an earlier run has left: all held pushes, and the pushes of users about whom a fact has
  ///    changed. The worker sends no push before.
  /// 5. Continue the deletion of rooms, the erasures, and the pushes of invitations.
  /// 6. Load the rooms with undecided messages, which decides these. This takes longest.
  fileprivate func start(on core: isolated Core) async throws {
    let undecided = try await dropUnstored(core.store.read { try $0.rooms.undecided() }, on: core)
    try await zones.load(on: core)
    try await responses.load(on: core)
    try await restrictions.load(on: core)
    try await people.awaitReturns(on: core)
    try await calls.load(on: core)
    try await erasures.load(on: core)
    try core.checkStarting()
    isAccepting = true
    // Unowned is safe, because the hub's loop ends before the actor is released.
    core.hub.receive = { [unowned core] events in core.assumeIsolated { $0.relay.handle(events, on: $0) } }
    // An earlier run may have stored the fact that ends a hold and then stopped. So every held push is decided again.
    let now = core.hub.now
    while try await core.store.write({ try $0.queue.decideHeldAgain(by: now) }) { try core.checkStarting() }
    // Unowned is safe, because the worker ends before the actor is released.
    await worker.listen { [unowned core] in await core.pushEnded($0) }
    core.store.listenToUpdates { [worker] in worker.wake() }
    await deliveries.holds.review(on: core)
    deliveries.holds.end(on: core)
    // An earlier run may have deleted rooms and then stopped.
    rooms.sweep(on: core)
    erasures.resume(on: core)
    try await invitations.load(on: core)
    // A join of a room that is not loaded yet loads the room at once.
    try await withThrowingTaskGroup(of: Void.self) { tasks in
      for (index, room) in undecided.enumerated() {
        if index >= Self.maxLoads { try await tasks.next() }
        try core.checkStarting()
        tasks.addImmediateTask { try await self.loadUndecided(room, on: core) }
      }
      try await tasks.waitForAll()
    }
    try core.becomeReady()
  }

  /// The number of rooms that are loaded at the same time at the start. It keeps the store busy, but leaves capacity
  /// for the requests of clients.
  private static let maxLoads = 8

  /// Gives up the undecided pushes in rooms that no longer keep messages, and returns the other rooms. No
  /// request is handled before `receive` is set, so none of these rooms is loaded.
  private func dropUnstored(_ rooms: [RoomID], on core: isolated Core) async throws -> [RoomID] {
    let unstored = rooms.filter { !core.settings.rooms.policy(for: $0).isStored }
    guard !unstored.isEmpty else { return rooms }
    try await core.store.write { for room in unstored { try $0.rooms.advanceCursor(room, to: .max) } }
    let gone = Set(unstored)
    return rooms.filter { !gone.contains($0) }
  }

  private func loadUndecided(_ room: RoomID, on core: isolated Core) async throws {
    // If the patterns have changed in the meantime, the next start gives up these pushes.
    guard memory.policy(of: room, on: core).isStored else { return }
    memory.retain(room)
    defer { memory.release(room, on: core) }
    _ = try await rooms.load(room, on: core)
  }

  fileprivate func reload(_ settings: RelaySettings, on core: isolated Core) {
    let former = core.settings
    core.use(settings)
    limitsText = Replies.limits(settings.limits)
    http.use(settings)
    backends.use(settings.apiKeys)
    audit.use(settings.apiKeys)
    deliveries.use(settings)
    http.endStreams(on: core) { !settings.apiKeys.keeps($0) }
    gateways.use(settings)
    core.hub.setLimits(settings.limits, grace: settings.policy.grace)
    rooms.applySettings(on: core)
    zones.use(settings.timeZones, on: core)
    worker.use(settings.push(zones.current))
    if settings.rooms != former.rooms { people.evaluateAllWatches(on: core) }
  }

  func warnings(on core: isolated Core) -> ReplyWarnings {
    ReplyWarnings(apps: core.settings.apps, zones: zones.current)
  }

  // MARK: Events

  fileprivate func handle(_ events: [HubEvent], on core: isolated Core) {
    var due: [(RoomHandle, UserHandle)] = []
    for event in events {
      switch event {
      case .request(let request): Task { await answer(request, on: core) }
      case .send(let message): messages.send(message, on: core)
      case .read(let mark): answer(mark, on: core)
      case .http(let request): Task { await http.answer(request, on: core) }
      case .streamClosed(let exchange):
        presenceStreams.forget(exchange, on: core)
        http.streamClosed(exchange)
      case .presence(let user, let entry): presenceStreams.changed(user, entry, on: core)
      case .userSeen(let user, let lastSeen, let activity):
        // Otherwise the end of the last session would store an erased user again.
        if erasures.discardsPresence(of: user) { continue }
        late.savePresence(of: user, lastSeen: lastSeen, activity: activity, on: core)
      case .userGone(let user):
        people.forget(user)
        invitations.forget(user)
      case .userDue(let user): people.userDue(user, on: core)
      case .returnsOver: Task { await people.endReturns(on: core) }
      case .alarm: alarmFired(on: core)
      case .clockJumped(let jump): clockJumped(jump, on: core)
      case .marked(let room, let user, let read, let received):
        late.saveMarks(room, user, read: read, received: received, on: core)
        core.publish(.marked(user, upTo: max(read, received), in: room))
      case .cursor(let room, let seq):
        late.saveCursor(seq, of: room, on: core)
        deliveries.decided(room, upTo: seq)
      case .due(let room, let user): due.append((room, user))
      case .sessionEnded(let session):
        access.forget(session)
        responses.forget(session)
        invitations.forget(session)
        inbox.forget(session, on: core)
      case .confirmed(let session, let number):
        responses.confirm(session, upTo: number, on: core)
        inbox.confirm(session, upTo: number)
        invitations.confirm(session, upTo: number)
      case .drained: ends.send()
      case .flushed:
        isFlushing = false
        ends.send()
      case .roomIdle(let room): memory.unloadIdle(room, on: core)
      case .roomGone(let room):
        rooms.forget(room)
        deliveries.forget(room)
        inbox.forget(room)
      }
    }
    if !due.isEmpty { deliveries.decide(due, on: core) }
  }

  private func alarmFired(on core: isolated Core) {
    deliveries.alarmFired(on: core)
    calls.endDue(on: core)
    core.armAlarm()
  }

  /// Shifts the times that are on the wall clock, so that their durations stay the same:
  ///
  /// - people: the ends of reports of Focus and filters
  /// - rooms: the ends of idempotency keys
  /// - calls: the ends of open calls
  /// - deliveries: the planned `delivery` events, and the ends of holds
  /// - clock steps: the due times in the store. They also decide again all pushes that depend on the wall clock, because
  ///   quiet hours may have begun or ended.
  ///
  /// A key ages while the machine is suspended, so rooms get only the step. The others get the whole jump, so that, for
  /// example, a call rings for its remaining time after the machine wakes up. The hub has re-armed its own alarms.
  private func clockJumped(_ jump: ClockJump, on core: isolated Core) {
    for line in jump.lines { core.diagnostics.log.notice("\(line.text)", metadata: ["seconds": "\(line.seconds)"]) }
    people.clockWasSet(on: core)
    rooms.clockWasSet(by: jump.step)
    calls.clockWasSet(by: jump.length, on: core)
    deliveries.clockWasSet(by: jump.length, on: core)
    clockSteps.move(by: jump.length, setTo: core.hub.now, on: core)
  }

  fileprivate func pushEnded(_ event: PushWorker.Event, on core: isolated Core) {
    switch event {
    case .ended(let state, let message, let user): deliveries.notifySender(state, of: message, to: user, on: core)
    case .deviceForgotten(let user): people.reloadInTime(user, on: core)
    case .pushOutdated(let user): core.publish(.person(user))
    }
  }

  /// Answers a frame of a session.
  private func answer(_ request: HubRequest, on core: isolated Core) async {
    let start = ContinuousClock.now
    guard let user = request.user else {
      let refusal = await hello(request, on: core)
      core.diagnostics.logRequest(request, error: refusal, since: start)
      return
    }
    core.hub.retain(user)
    defer { core.hub.release(user) }
    do {
      guard let command = Commands.byFrame[request.type] else {
        preconditionFailure("the hub handed over a \(request.type)")
      }
      guard let name = core.hub.name(of: user) else { throw HubRefusal.gone }
      let caller = SessionCaller(
        session: request.session, user: user, name: name, device: core.hub.device(of: request.session))
      var parsed = Request(request.fields, by: .session(caller), core.settings)
      parsed.expectsReply = request.id != nil
      let reply = try await perform(command, parsed, on: core)
      let json = Replies.ok(request, reply.members)
      if let page = reply.page {
        core.hub.finish(request.session, with: json, page)
      } else {
        core.hub.finish(request.session, with: json)
      }
      core.diagnostics.logRequest(request, error: nil, since: start)
    } catch {
      let error = core.requestError(error)
      core.hub.finish(request.session, with: core.refusal(request.id, error))
      core.diagnostics.logRequest(request, error: error, since: start)
    }
  }

  /// Answers a `read` of a session when its mark is stored.
  private func answer(_ mark: HubRead, on core: isolated Core) {
    late.storeMarks(mark.room, mark.user, on: core) { result in
      switch result {
      case .success: core.hub.finish(mark.session, with: Replies.ok(mark.id))
      case .failure(let error): core.hub.finish(mark.session, with: core.refusal(mark.id, core.requestError(error)))
      }
    }
  }
}

/// The start, the end and the settings of the relay, for the owner of the actor.
extension Core {
  package init(
    hub: sending Hub, store: Store, settings: RelaySettings, gateways: Gateways, http: sending any HTTPHandler,
    worker: PushWorker, log: Logger
  ) {
    let relay = Relay(store, settings, gateways, worker, http)
    self.init(hub: hub, store: store, settings: settings, owner: relay, log: log)
  }

  package var relay: Relay {
    guard let relay = owner as? Relay else { preconditionFailure("the owner of this actor is not a relay") }
    return relay
  }

  /// Starts to accept requests, and loads the rooms that have undecided messages from an earlier run. Loading a room
  /// decides its messages. Returns when all of these rooms are loaded. Throws `CancellationError` soon after
  /// ``retire()``.
  package func start() async throws { try await relay.start(on: self) }

  fileprivate func pushEnded(_ event: PushWorker.Event) { relay.pushEnded(event, on: self) }

  /// Applies new settings. A room in memory keeps its kind: a room that stores messages goes on storing, and one that
  /// stores none does not begin to.
  package func reload(_ settings: RelaySettings) { relay.reload(settings, on: self) }

  /// Accepts no more sessions, closes all sessions with a code after which clients reconnect, and ends the streams.
  package func drain() {
    retire()
    hub.drain(.shutdown, "the server is shutting down")
    relay.presenceStreams.endAll(on: self)
    relay.http.endStreams(on: self)
  }

  /// Submits the late writes (see ``LateWriter``) and the entries of the audit log that the store has rejected. Makes
  /// the hub deliver all changed marks, cursors, and times of the last requests, which are then submitted.
  /// ``waitForFlush(until:)`` must follow: the hub delivers them in a later iteration of its loop.
  package func flush() {
    relay.late.flush(on: self)
    relay.audit.flush(on: self)
    // Until the start sets `receive`, nobody receives the events, and nothing was changed.
    relay.isFlushing = hub.receive != nil
    hub.flush()
  }

  /// Waits until everything of ``flush()`` is submitted to the store, at most until the deadline. The writes are on disk
  /// after ``Store/close()``.
  package func waitForFlush(until deadline: ContinuousClock.Instant) async {
    await relay.ends.wait(until: deadline) { await !self.isFlushing }
  }

  /// Accepts no more connections.
  package func closeListener() { hub.closeListener() }

  /// Waits until the last session has ended, at most until the deadline.
  package func waitForSessions(until deadline: ContinuousClock.Instant) async {
    await relay.ends.wait(until: deadline) { await !self.hasSessions }
  }

  /// Waits until every HTTP request has its answer, at most until the deadline.
  package func waitForExchanges(until deadline: ContinuousClock.Instant) async {
    await relay.ends.wait(until: deadline) { await !self.hasExchanges }
  }

  private var isFlushing: Bool { relay.isFlushing }
  // Before the relay accepts requests, nobody gets an answer.
  private var hasSessions: Bool { relay.isAccepting && hub.hasSessions }
  private var hasExchanges: Bool { relay.isAccepting && hub.hasExchanges }

  /// Ends the hub's loop. Messages that still wait for a decision are decided by the next run.
  package func stopHub() {
    relay.deliveries.stop()
    relay.presenceStreams.stop()
    hub.stop()
  }
}

/// The HTTP side of the relay. The methods run on the hub's thread.
package protocol HTTPHandler: AnyObject {
  /// Applies new settings.
  func use(_ settings: RelaySettings)
  func answer(_ request: HTTPRequest, on core: isolated Core) async
  /// The client has closed the stream that an answer began.
  func streamClosed(_ exchange: ExchangeHandle)
  func endStreams(on core: isolated Core)
  /// Ends the streams of these API keys.
  func endStreams(on core: isolated Core, where isEnded: (BackendKey) -> Bool)
}
