// SPDX-License-Identifier: Apache-2.0
import Foundation
import Logging
import RelayDelivery
import RelayGateways
import RelayHub
import RelayIdentity
import RelayJSON
import RelayProtocol
import RelayPush
import RelayStore

/// The policy above the hub: it answers what the hub hands over, with the store behind it.
///
/// It lives on the hub's thread, so that hub and relay change together without a lock. A message takes three steps
/// that stay apart: accept (``send(_:)``), store (``append(_:to:_:then:)``, one transaction with its push jobs), show
/// (`Hub.publish`).
actor Relay {
  nonisolated let thread: HubThread
  nonisolated var unownedExecutor: UnownedSerialExecutor { thread.asUnownedSerialExecutor() }

  let hub: Hub
  let store: Store
  let simulator: SimulatedGateway
  let apple: AppleGateway?
  let webPush: WebPushGateway?
  let http: HTTPGateway?
  let site: Site
  let worker: PushWorker
  let receipts: ReceiptKey
  let log: Logger
  /// Replaced in one step, see ``reload(_:)``.
  var settings: Settings
  var parser: JSONParser

  /// Users in memory as recipients. Contains only users of whom something is known that the hub does not hold.
  var people: [UserHandle: Recipient] = [:]
  /// What the tokens of sessions allow, where it is not what everybody may.
  var permissions: [SessionHandle: Permissions] = [:]
  /// Rooms that are being read, by whoever came first.
  var loads: [RoomID: Task<RoomHandle?, any Error>] = [:]
  /// Reads of users under way, and when in the order of all changes a user changed while there were any.
  var readings = 0
  var changes = 0
  var changed: [UserID: Int] = [:]
  /// Up to which change it is no longer known whose they were.
  var changesForgotten = 0
  /// Undecided messages, reports and holds.
  let deliveries = Deliveries()
  /// Edits and deletions of the rooms in memory that had any.
  var changedRooms: [RoomHandle: RoomChanges] = [:]
  /// What the rooms in memory do.
  var policies: [RoomHandle: RoomPolicy] = [:]
  /// Idempotency keys of rooms that keep nothing.
  var liveKeys = LiveKeys()
  /// How many requests need a room to stay in memory.
  var pins: [RoomID: Int] = [:]
  /// The number of joins to each room that the store has not completed.
  var joins: [RoomID: Int] = [:]
  /// What senders may ask people to choose from.
  var categories = Categories()
  var responses = UntoldResponses()
  /// Streams of server-sent events.
  var streams: [ExchangeHandle: Task<Void, Never>] = [:]
  /// What is counted here; the rest of ``metrics(_:)`` is counted where it happens.
  var tally = Tally()
  var lateWrites = LateWrites()
  /// The next try of late writes that have failed.
  var lateRetry: Task<Void, Never>?
  /// Between lines about a failing store.
  var storeLogPause = LogPause()
  /// Bounds the lines about refused requests.
  var refusalLog = LogBurst()
  var stage = Stage.starting

  /// What `/ready` says.
  enum Stage: String {
    /// Clients are served, but rooms with undecided messages are still being loaded.
    case starting
    case ready
    /// Others should be asked.
    case stopping
  }

  /// Who may say who they are.
  enum Authentication: Sendable {
    /// Everybody is who they say.
    case open
    case tokens(TokenVerifier)
  }

  init(
    hub: sending Hub, store: Store, settings: Settings, simulator: SimulatedGateway, apple: AppleGateway? = nil,
    webPush: WebPushGateway? = nil, http: HTTPGateway? = nil, site: Site, worker: PushWorker, log: Logger
  ) {
    thread = hub.thread
    hub.start()
    self.hub = hub
    self.store = store
    self.settings = settings
    self.simulator = simulator
    self.apple = apple
    self.webPush = webPush
    self.http = http
    self.site = site
    self.worker = worker
    receipts = ReceiptKey(store.secret)
    worker.use(settings.push)
    self.log = log
    parser = JSONParser(deepest: settings.limits.nesting)
    serveGateways(settings)
  }

  /// Takes what clients ask, and decides again what an earlier run left undecided; returns when all of it is loaded.
  func start() async throws {
    let undecided = try await leaveUnstored(store.read { try $0.rooms.undecided() })
    try await loadCategories()
    responses.senders = Set(try await store.read { try $0.responses.sendersWithResponses() })
    // Unowned is safe: the relay ends the hub's loop before it goes.
    hub.receive = { [unowned self] events in assumeIsolated { $0.handle(events) } }
    // What was to end a hold may have been stored by the earlier run, and no more.
    let now = hub.now
    try await store.write { try $0.queue.decideHeldAgain(by: now) }
    // Unowned is safe: the worker ends before the relay does.
    await worker.listen { [unowned self] in await heard($0) }
    await deliveries.holds.review(on: self)
    deliveries.holds.end(on: self)
    // Who joins a room before its turn has come loads it first, as on every other day.
    try await withThrowingTaskGroup(of: Void.self) { tasks in
      for (index, room) in undecided.enumerated() {
        if index >= Self.mostLoads { try await tasks.next() }
        tasks.addTask { try await self.decideAgain(in: room) }
      }
      try await tasks.waitForAll()
    }
    if stage == .starting { stage = .ready }
  }

  /// Rooms that are loaded at the same time at the start: enough to keep the store busy, and few beside what clients
  /// ask.
  private static let mostLoads = 8

  /// In rooms that keep nothing any more nobody is pushed to; the others are left. Before clients are there, so that
  /// none of these rooms is in use.
  private func leaveUnstored(_ rooms: [RoomID]) async throws -> [RoomID] {
    let unstored = rooms.filter { !settings.rooms.policy(for: $0).isStored }
    guard !unstored.isEmpty else { return rooms }
    try await store.write { for room in unstored { try $0.rooms.advanceCursor(room, to: .max) } }
    let gone = Set(unstored)
    return rooms.filter { !gone.contains($0) }
  }

  private func decideAgain(in room: RoomID) async throws {
    // The patterns may be others by now; the next start takes care of it then.
    guard policy(of: room).isStored else { return }
    pin(room)
    defer { unpin(room) }
    _ = try await load(room)
  }

  /// `/ready` says from now on that others should be asked.
  func retire() { stage = .stopping }

  /// Takes no more sessions, asks every client to come back, and ends the streams.
  func drain() {
    stage = .stopping
    hub.drain(.shutdown, "the server is shutting down")
    for (exchange, stream) in streams {
      stream.cancel()
      hub.endStream(exchange)
    }
    streams = [:]
  }

  /// What the hub tells late is on its way to the store when the next call of this actor is made.
  func flush() {
    lateRetry?.cancel()
    submitFailedLateWrites()
    hub.flush()
  }

  /// Takes no connection any more.
  func closeListener() { hub.closeListener() }

  var hasSessions: Bool { hub.hasSessions }

  var hasExchanges: Bool { hub.hasExchanges }

  /// Ends the hub's loop. Members that are still due are decided by the next run.
  func stopHub() {
    deliveries.stop()
    hub.stop()
  }

  func handle(_ events: [HubEvent]) {
    var due: [(RoomHandle, UserHandle)] = []
    for event in events {
      switch event {
      case .request(let request): Task { await answer(request) }
      case .send(let message): send(message)
      case .http(let request): Task { await answer(request) }
      case .streamClosed(let exchange): streams.removeValue(forKey: exchange)?.cancel()
      case .userAway(let user, let lastSeen): saveLastSeen(lastSeen, of: user)
      case .userGone(let user): people[user] = nil
      case .userDue(let user): userDue(user)
      case .alarm: deliveries.alarmCame(on: self)
      case .clockSet(let step): clockWasSet(by: step)
      case .marked(let room, let user, let read, let received):
        saveMarks(room, user, read: read, received: received)
        deliveries.reportReceived(room, user, upTo: max(read, received), on: self)
      case .cursor(let room, let seq):
        saveCursor(seq, of: room)
        deliveries.decided(room, upTo: seq)
      case .due(let room, let user): due.append((room, user))
      case .sessionEnded(let session):
        permissions[session] = nil
        responses.sessions[session] = nil
      case .confirmed(let session, let number): confirmResponses(of: session, upTo: number)
      case .roomIdle(let room): forgetIdle(room)
      case .roomGone(let room):
        policies[room] = nil
        changedRooms[room] = nil
        deliveries.forget(room)
      }
    }
    if !due.isEmpty { deliveries.decide(due, on: self) }
  }

  /// The types that the hub answers by itself, or hands over as ``HubEvent/send(_:)``.
  static let hubRequests = ["hello", "send", "signal", "received", "read", "activity", "ping"]
  /// The types that ``answer(_:)`` knows.
  static let requests = [
    "join", "leave", "history", "edit", "delete", "notify", "focus", "filter", "preferences", "block", "unblock",
    "presence", "watch", "unwatch", "device", "refresh", "respond",
  ]

  private func heard(_ news: PushWorker.Event) {
    switch news {
    case .ended(let state, let message, let user): deliveries.reportPush(state, of: message, to: user, on: self)
    case .deviceForgotten(let user): reloadInTime(user)
    case .pushOutdated(let user): deliveries.holds.reconsider(user, on: self)
    }
  }

  private func answer(_ request: HubRequest) async {
    let start = ContinuousClock.now
    let user = request.user
    if let user { hub.retain(user) }
    defer { if let user { hub.release(user) } }
    do {
      guard let user else {
        let refusal = await hello(request)
        logRequest(request, error: refusal, since: start)
        return
      }
      switch request.type {
      case "join": try await join(request, user)
      case "leave": try await leave(request, user)
      case "history": try await history(request)
      case "edit": try await edit(request, user)
      case "delete": try await delete(request, user)
      case "notify": try await notify(request, user)
      case "focus": try await focus(request, user)
      case "filter": try await filter(request, user)
      case "preferences": try await preferences(request, user)
      case "block": try await block(request, user, true)
      case "unblock": try await block(request, user, false)
      case "presence": try await presence(request, user)
      case "watch": try await watch(request, user)
      case "unwatch": try unwatch(request)
      case "device": try await device(request, user)
      case "refresh": try await refresh(request, user)
      case "respond": try await respond(request, user)
      default: preconditionFailure("the hub handed over a \(request.type)")
      }
      logRequest(request, error: nil, since: start)
    } catch {
      let error = requestError(error)
      hub.finish(request.session, with: refusal(request.id, error))
      logRequest(request, error: error, since: start)
    }
  }

  func finish(_ request: HubRequest, type: String = "ok", _ members: (inout JSONWriter.Object) -> Void = { _ in }) {
    hub.finish(request.session, with: Replies.ok(request, type: type, members))
  }

  /// An `error` frame, which counts as told.
  func refusal(_ id: [UInt8]?, _ error: RequestError, room: RoomID? = nil) -> [UInt8] {
    tally.count(error.code)
    return Replies.error(id, error, room: room)
  }

  /// What a client is told of an error.
  func requestError(_ error: any Error) -> RequestError {
    switch error {
    case let error as RequestError: return error
    case is MethodRefusal: return RequestError(.unsupported, "this path does not know the method")
    case HubRefusal.notThere: return RequestError(.notJoined, "this session has not joined the room")
    case HubRefusal.tooMany: return RequestError(.tooLarge, "one past the limit `roomsPerSession`")
    case HubRefusal.gone: return RequestError(.notFound, "it is no longer there")
    case let error as StoreError:
      let told = RequestError(error)
      if told.code.isTemporary { logFailure(of: error) }
      return told
    default:
      log.error("an unexpected error: \(type(of: error))")
      return RequestError(.internal, "something went wrong here")
    }
  }
}
