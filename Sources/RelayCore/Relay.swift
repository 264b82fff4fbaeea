// SPDX-License-Identifier: Apache-2.0
package import Logging
import RelayDelivery
package import RelayHub
package import RelayIdentity
import RelayJSON
package import RelayProtocol
package import RelayPush
package import RelayStore

/// The layer above the hub that makes decisions: rights, storage, pushes.
///
/// It runs on the hub's thread, so that hub and relay change together without a lock. It creates the components,
/// dispatches the hub's events to them, and starts and stops them. The components hold the state.
package actor Relay {
  package nonisolated let thread: HubThread
  package nonisolated var unownedExecutor: UnownedSerialExecutor { thread.asUnownedSerialExecutor() }

  package let hub: Hub
  package let store: Store
  package let gateways: Gateways
  package let worker: PushWorker
  /// The current settings. ``reload(_:)`` replaces them in one step.
  package private(set) var settings: Settings
  package private(set) var stage = Stage.starting

  package let rooms = Rooms()
  package let people = People()
  package let access = Access()
  package let restrictions = Restrictions()
  package let deliveries = Deliveries()
  package let zones: Zones
  package let responses: Responses
  package let late = LateWriter()
  package let inbox = Inbox()
  package let calls = Calls()
  package let invitations = Invitations()
  package let presenceStreams = PresenceStreams()
  package let erasures = Erasures()
  package let backends = Backends()
  package let audit = AuditLog()
  /// The components that act on each change after its commit, in this order: the rooms show it in the hub, which sends
  /// the events, the sender of a message gets the reply, and all others follow.
  let followers: [any Follower]
  let clockSteps = ClockSteps()
  var refusalPace = RefusalPace()
  package let diagnostics: Diagnostics
  package let http: any HTTPHandler
  /// Signals the end of the last session or HTTP request, and the end of a flush.
  private let ends = EndSignal()
  /// True until the hub has delivered the events of ``flush()``.
  private var isFlushing = false
  /// True after the hub has delivered its first events.
  private var isAccepting = false

  /// The stage that `/ready` shows.
  package enum Stage: String {
    /// The relay serves clients, but still loads the rooms with undecided messages.
    case starting
    case ready
    /// Clients should connect to another server.
    case stopping
  }

  /// The delay before a retry after the store has failed.
  static let storePause = Duration.seconds(1)

  package init(
    hub: sending Hub, store: Store, settings: Settings, gateways: Gateways, http: sending any HTTPHandler,
    worker: PushWorker, log: Logger
  ) {
    thread = hub.thread
    hub.start()
    self.hub = hub
    self.store = store
    self.settings = settings
    zones = Zones(settings.timeZones)
    self.gateways = gateways
    self.http = http
    self.worker = worker
    responses = Responses(receipts: ReceiptKey(store.secret))
    diagnostics = Diagnostics(log)
    followers = [rooms, SenderReplies(), inbox, calls, deliveries, people, invitations, late, audit, restrictions]
    http.use(settings)
    worker.use(settings.push(zones.current))
    gateways.use(settings)
  }

  // MARK: The start

  /// Starts to accept requests, and loads the rooms that have undecided messages from an earlier run. Loading a room
  /// decides its messages. Returns when all of these rooms are loaded. Throws `CancellationError` soon after
  /// ``retire()``.
  package func start() async throws {
    let undecided = try await dropUnstored(store.read { try $0.rooms.undecided() })
    try await zones.load(on: self)
    try await responses.load(on: self)
    try await restrictions.load(on: self)
    try await people.awaitReturns(on: self)
    try await calls.load(on: self)
    try await erasures.load(on: self)
    try checkStarting()
    isAccepting = true
    // Unowned is safe, because the hub's loop ends before the relay is released.
    hub.receive = { [unowned self] events in assumeIsolated { $0.handle(events) } }
    // An earlier run may have stored the fact that ends a hold and then stopped. So every held push is decided again.
    let now = hub.now
    while try await store.write({ try $0.queue.decideHeldAgain(by: now) }) { try checkStarting() }
    // Unowned is safe, because the worker ends before the relay is released.
    await worker.listen { [unowned self] in await pushEnded($0) }
    store.listenToUpdates { [worker] in worker.wake() }
    await deliveries.holds.review(on: self)
    deliveries.holds.end(on: self)
    // An earlier run may have deleted rooms and then stopped.
    rooms.sweep(on: self)
    erasures.resume(on: self)
    try await invitations.load(on: self)
    // A join of a room that is not loaded yet loads the room at once.
    try await withThrowingTaskGroup(of: Void.self) { tasks in
      for (index, room) in undecided.enumerated() {
        if index >= Self.maxLoads { try await tasks.next() }
        try checkStarting()
        tasks.addTask { try await self.decideAgain(in: room) }
      }
      try await tasks.waitForAll()
    }
    try checkStarting()
    stage = .ready
  }

  /// Throws `CancellationError` if the relay ends before it has started.
  private func checkStarting() throws { if stage != .starting { throw CancellationError() } }

  /// The number of rooms that are loaded at the same time at the start. It keeps the store busy, but leaves capacity
  /// for the requests of clients.
  private static let maxLoads = 8

  /// Gives up the undecided pushes in rooms that no longer keep messages, and returns the other rooms. No
  /// request is handled before `receive` is set, so none of these rooms is loaded.
  private func dropUnstored(_ rooms: [RoomID]) async throws -> [RoomID] {
    let unstored = rooms.filter { !settings.rooms.policy(for: $0).isStored }
    guard !unstored.isEmpty else { return rooms }
    try await store.write { for room in unstored { try $0.rooms.advanceCursor(room, to: .max) } }
    let gone = Set(unstored)
    return rooms.filter { !gone.contains($0) }
  }

  private func decideAgain(in room: RoomID) async throws {
    // If the patterns have changed in the meantime, the next start gives up these pushes.
    guard rooms.policy(of: room, on: self).isStored else { return }
    rooms.retain(room)
    defer { rooms.release(room, on: self) }
    _ = try await rooms.load(room, on: self)
  }

  /// Applies new settings. A room in memory keeps its kind: a room that stores messages goes on storing, and one that
  /// stores none does not begin to.
  package func reload(_ settings: Settings) {
    let former = self.settings
    self.settings = settings
    http.use(settings)
    backends.use(settings.apiKeys)
    audit.use(settings.apiKeys)
    http.endStreams(on: self) { !settings.apiKeys.keeps($0) }
    gateways.use(settings)
    hub.setLimits(settings.limits, grace: settings.policy.grace)
    rooms.applySettings(on: self)
    zones.use(settings.timeZones, on: self)
    worker.use(settings.push(zones.current))
    if settings.rooms != former.rooms { people.evaluateAllWatches(on: self) }
  }

  // MARK: The end

  /// Makes `/ready` answer 503 from now on, so that clients connect elsewhere.
  package func retire() { stage = .stopping }

  /// Accepts no more sessions, closes all sessions with a code after which clients reconnect, and ends the streams.
  package func drain() {
    stage = .stopping
    hub.drain(.shutdown, "the server is shutting down")
    presenceStreams.endAll(on: self)
    http.endStreams(on: self)
  }

  /// Submits the late writes (see ``LateWriter``) and the entries of the audit log that the store has rejected. Makes
  /// the hub deliver all changed marks, cursors, and times of the last requests, which are then submitted.
  /// ``waitForFlush(until:)`` must follow: the hub delivers them in a later iteration of its loop.
  package func flush() {
    late.flush(on: self)
    audit.flush(on: self)
    // Before the end of the start, nobody receives the events, and nothing was changed.
    isFlushing = hub.receive != nil
    hub.flush()
  }

  /// Waits until everything of ``flush()`` is submitted to the store, at most until the deadline. The writes are on disk
  /// after ``Store/close()``.
  package func waitForFlush(until deadline: ContinuousClock.Instant) async {
    await ends.wait(until: deadline) { await !self.isFlushing }
  }

  /// Accepts no more connections.
  package func closeListener() { hub.closeListener() }

  /// Waits until the last session has ended, at most until the deadline.
  package func waitForSessions(until deadline: ContinuousClock.Instant) async {
    await ends.wait(until: deadline) { await !self.hasSessions }
  }

  /// Waits until every HTTP request has its answer, at most until the deadline.
  package func waitForExchanges(until deadline: ContinuousClock.Instant) async {
    await ends.wait(until: deadline) { await !self.hasExchanges }
  }

  // Before the relay accepts requests, nobody gets an answer.
  private var hasSessions: Bool { isAccepting && hub.hasSessions }
  private var hasExchanges: Bool { isAccepting && hub.hasExchanges }

  /// Ends the hub's loop. Messages that still wait for a decision are decided by the next run.
  package func stopHub() {
    deliveries.stop()
    presenceStreams.stop()
    hub.stop()
  }

  // MARK: Events

  private func handle(_ events: [HubEvent]) {
    var due: [(RoomHandle, UserHandle)] = []
    for event in events {
      switch event {
      case .request(let request): Task { await answer(request) }
      case .send(let message): send(message)
      case .read(let mark): answer(mark)
      case .http(let request): Task { await http.answer(request, on: self) }
      case .streamClosed(let exchange):
        presenceStreams.forget(exchange, on: self)
        http.streamClosed(exchange)
      case .presence(let user, let entry): presenceStreams.changed(user, entry, on: self)
      case .userSeen(let user, let lastSeen, let activity):
        // Otherwise the end of the last session would store an erased user again.
        if erasures.discardsPresence(of: user) { continue }
        late.savePresence(of: user, lastSeen: lastSeen, activity: activity, on: self)
      case .userGone(let user):
        people.forget(user)
        invitations.forget(user)
      case .userDue(let user): people.userDue(user, on: self)
      case .returnsOver: Task { await people.endReturns(on: self) }
      case .alarm: alarmFired()
      case .clockJumped(let jump): clockJumped(jump)
      case .marked(let room, let user, let read, let received):
        late.saveMarks(room, user, read: read, received: received, on: self)
        deliveries.reportReceived(room, user, upTo: max(read, received), on: self)
      case .cursor(let room, let seq):
        late.saveCursor(seq, of: room, on: self)
        deliveries.decided(room, upTo: seq)
      case .due(let room, let user): due.append((room, user))
      case .sessionEnded(let session):
        access.forget(session)
        responses.forget(session)
        invitations.forget(session)
        inbox.forget(session, on: self)
      case .confirmed(let session, let number):
        responses.confirm(session, upTo: number, on: self)
        inbox.confirm(session, upTo: number)
        invitations.confirm(session, upTo: number)
      case .drained: ends.send()
      case .flushed:
        isFlushing = false
        ends.send()
      case .roomIdle(let room): rooms.forgetIdle(room, on: self)
      case .roomGone(let room):
        rooms.forget(room)
        deliveries.forget(room)
        inbox.forget(room)
      }
    }
    if !due.isEmpty { deliveries.decide(due, on: self) }
  }

  /// Arms the hub's only alarm for the next time at which a push or a call needs work.
  func armAlarm() { hub.setAlarm([deliveries.alarm, calls.alarm].compactMap { $0 }.min()) }

  private func alarmFired() {
    deliveries.alarmFired(on: self)
    calls.endDue(on: self)
    armAlarm()
  }

  private func pushEnded(_ event: PushWorker.Event) {
    switch event {
    case .ended(let state, let message, let user): deliveries.reportPush(state, of: message, to: user, on: self)
    case .deviceForgotten(let user): people.reloadInTime(user, on: self)
    case .pushOutdated(let user): follow(.person(user))
    }
  }

  /// Answers a frame of a session.
  private func answer(_ request: HubRequest) async {
    let start = ContinuousClock.now
    guard let user = request.user else {
      let refusal = await hello(request)
      diagnostics.logRequest(request, error: refusal, since: start)
      return
    }
    hub.retain(user)
    defer { hub.release(user) }
    do {
      guard let command = Commands.byFrame[request.type] else {
        preconditionFailure("the hub handed over a \(request.type)")
      }
      guard let name = hub.name(of: user) else { throw HubRefusal.gone }
      let caller = SessionCaller(
        session: request.session, user: user, name: name, device: hub.device(of: request.session))
      var parsed = Request(request.fields, by: .session(caller), settings)
      parsed.expectsReply = request.id != nil
      let reply = try await perform(command, parsed)
      let json = Replies.ok(request, reply.members)
      if let page = reply.page {
        hub.finish(request.session, with: json, page)
      } else {
        hub.finish(request.session, with: json)
      }
      diagnostics.logRequest(request, error: nil, since: start)
    } catch {
      let error = requestError(error)
      hub.finish(request.session, with: refusal(request.id, error))
      diagnostics.logRequest(request, error: error, since: start)
    }
  }

  /// Answers a `read` of a session when its mark is stored.
  private func answer(_ mark: HubRead) {
    late.storeMarks(mark.room, mark.user, on: self) { relay, result in
      switch result {
      case .success: relay.hub.finish(mark.session, with: Replies.ok(mark.id))
      case .failure(let error): relay.hub.finish(mark.session, with: relay.refusal(mark.id, relay.requestError(error)))
      }
    }
  }

  /// The clock that measures the age of the reports of devices.
  var moment: Moment { store.readClock().moment }

  // MARK: Errors

  /// Makes an `error` frame, and counts it.
  package func refusal(_ id: [UInt8]?, _ error: RequestError, room: RoomID? = nil) -> [UInt8] {
    diagnostics.tally.count(error.code)
    return Replies.error(id, error, room: room)
  }

  /// The error that a client receives. Logs a failure of the store.
  package func requestError(_ error: any Error) -> RequestError {
    guard let known = RequestError(known: error) else {
      diagnostics.log.error("an unexpected error: \(type(of: error))")
      return RequestError(.internal, "something went wrong here")
    }
    if let error = error as? StoreError, known.code.isTemporary { diagnostics.logFailure(of: error) }
    return known
  }

  /// Performs work in the background. Repeats it after a failure that may pass, for example of the store. Ends if a
  /// repetition would fail, too, or if the relay stops.
  func retry(_ work: nonisolated(nonsending) () async throws -> Void) async {
    while stage != .stopping {
      do {
        return try await work()
      } catch {
        guard await mayRepeat(after: error) else { return }
      }
    }
  }

  /// Logs the failure of work in the background, and waits before the work is repeated.
  /// - Returns: False if the work must not be repeated: the relay stops, or a repetition would fail, too. A damage lasts
  ///   until the relay is started again, and each refused request would add work that repeats until then.
  func mayRepeat(after error: any Error) async -> Bool {
    let isTemporary = requestError(error).code.isTemporary  // logs the failure
    guard isTemporary, (error as? StoreError)?.isLasting != true else { return false }
    try? await Task.sleep(for: Self.storePause)
    return stage != .stopping
  }

  // MARK: Rates

  /// Charges a user's rate for a request over HTTP, or for the additional cost of a request. The hub charges each frame
  /// of a session. Throws `rate_limited`.
  package func spend(_ rate: Rate, of user: UserHandle, count: Int = 1) throws(RequestError) {
    if count > 0, let delay = hub.takeTokens(rate, of: user, count: count) {
      throw RequestError(.rateLimited, rate.refusal, retryAfter: delay)
    }
  }

  /// Charges a room's rate. Throws `rate_limited`.
  package func spend(_ rate: RoomRate, of room: RoomHandle) throws(RequestError) {
    if let delay = hub.takeToken(rate, of: room) {
      throw RequestError(.rateLimited, "too many requests to the room", retryAfter: delay)
    }
  }

  /// Charges the rates of a message that a user sends. The hub (for a frame) or the HTTP layer has already taken one
  /// token of the sender. `pushes` is true if the message may become a push.
  package func spend(sendTo room: RoomHandle, by user: UserHandle, pushes: Bool) throws(RequestError) {
    if let delay = pushes ? hub.takeSend(to: room, by: user) : hub.takeToken(.send, of: room) {
      throw RequestError(.rateLimited, "too many messages to the room", retryAfter: delay)
    }
  }
}

/// The HTTP side of the relay. The methods run on the hub's thread.
package protocol HTTPHandler: AnyObject {
  /// Applies new settings.
  func use(_ settings: Relay.Settings)
  func answer(_ request: HTTPRequest, on relay: isolated Relay) async
  /// The client has closed the stream that an answer began.
  func streamClosed(_ exchange: ExchangeHandle)
  func endStreams(on relay: isolated Relay)
  /// Ends the streams of these API keys.
  func endStreams(on relay: isolated Relay, where isEnded: (BackendKey) -> Bool)
}
