// SPDX-License-Identifier: Apache-2.0
import Foundation
import Logging
import RelayDelivery
import RelayGateways
import RelayHub
import RelayProtocol
import RelayStore

/// The policy above the hub: it answers what the hub hands over, with the store behind it.
///
/// It lives on the hub's thread, so that hub and relay change together without a lock. A message takes three steps
/// that stay apart: accept (``send(_:)``), store (one transaction with its push jobs), show
/// (``show(_:_:in:from:sender:decided:)``).
actor Relay {
  nonisolated let thread: HubThread
  nonisolated var unownedExecutor: UnownedSerialExecutor { thread.asUnownedSerialExecutor() }

  let hub: Hub
  let store: Store
  let authentication: Authentication
  let limits: Limits
  let policy: DeliveryPolicy
  let simulator: SimulatedGateway
  let site: Site
  let worker: PushWorker
  let log: Logger
  let parser: JSONParser

  /// What the hub does not hold of users in memory; only of those who have any of it.
  var people: [UserHandle: Person] = [:]
  /// Rooms that are being read, by whoever came first.
  var loads: [RoomID: Task<RoomHandle?, any Error>] = [:]
  /// Reads of users under way, and when in the order of all changes a user changed while there were any.
  var readings = 0
  var changes = 0
  var changed: [UserID: Int] = [:]
  /// How many requests need a room to stay in memory.
  var pins: [RoomID: Int] = [:]
  /// Streams of server-sent events.
  var streams: [ExchangeHandle: Task<Void, Never>] = [:]
  /// Whether new work is welcome.
  var isReady = false

  /// Who may say who they are.
  enum Authentication: Sendable {
    /// Everybody is who they say.
    case open
    case tokens(TokenVerifier)
  }

  struct Person {
    var focus = FocusLedger()
    var devices: [Device] = []
    var isEmpty: Bool { focus.count == 0 && devices.isEmpty }
  }

  init(
    hub: sending Hub, store: Store, authentication: Authentication, limits: Limits, policy: DeliveryPolicy,
    simulator: SimulatedGateway, site: Site, worker: PushWorker, log: Logger
  ) {
    thread = hub.thread
    hub.start()
    self.hub = hub
    self.store = store
    self.authentication = authentication
    self.limits = limits
    self.policy = policy
    self.simulator = simulator
    self.site = site
    self.worker = worker
    self.log = log
    parser = JSONParser(deepest: limits.nesting)
  }

  /// Decides again what an earlier run left undecided, and takes what clients ask.
  func start() async throws {
    for room in try await store.read({ try $0.undecided() }) {
      pin(room)
      defer { unpin(room) }
      _ = try await load(room)
    }
    isReady = true
    // Unowned is safe: the relay ends the hub's loop before it goes.
    hub.receive = { [unowned self] events in assumeIsolated { $0.handle(events) } }
  }

  /// Takes no more work and asks every client to come back.
  func closeSessions() {
    isReady = false
    hub.closeListener()
    hub.closeSessions(.shutdown, "the server is shutting down")
    for (exchange, stream) in streams {
      stream.cancel()
      hub.endStream(exchange)
    }
    streams = [:]
  }

  /// What the hub tells late is on its way to the store when the next call of this actor is made.
  func flush() { hub.flush() }

  /// Whether somebody is still connected.
  var hasSessions: Bool { hub.hasSessions }

  /// Ends the hub's loop.
  func stopHub() { hub.stop() }

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
      case .marked(let room, let user, let read, let received):
        saveMarks(room, user, read: read, received: received)
      case .cursor(let room, let seq): saveCursor(seq, of: room)
      case .due(let room, let user): due.append((room, user))
      case .roomIdle(let room): forgetIdle(room)
      }
    }
    if !due.isEmpty { decide(due) }
  }

  /// The types that ``answer(_:)`` knows.
  static let requests = ["join", "leave", "history", "focus", "presence", "device"]

  private func answer(_ request: HubRequest) async {
    let user = request.user
    if let user { hub.retain(user) }
    defer { if let user { hub.release(user) } }
    do {
      guard let user else {
        await hello(request)
        return
      }
      switch request.type {
      case "join": try await join(request, user)
      case "leave": try await leave(request, user)
      case "history": try await history(request)
      case "focus": try await focus(request, user)
      case "presence": try await presence(request, user)
      case "device": try await device(request, user)
      default: preconditionFailure("the hub handed over a \(request.type)")
      }
    } catch {
      hub.finish(request.session, with: Replies.error(request.id, requestError(error)))
    }
  }

  func finish(_ request: HubRequest, type: String = "ok", _ members: (inout JSONWriter.Object) -> Void = { _ in }) {
    hub.finish(request.session, with: Replies.ok(request, type: type, members))
  }

  /// What a client is told of an error.
  func requestError(_ error: any Error) -> RequestError {
    switch error {
    case let error as RequestError: return error
    case is MethodRefusal: return RequestError(.unsupported, "this path does not know the method")
    case HubRefusal.notThere: return RequestError(.notJoined, "this session has not joined the room")
    case HubRefusal.tooMany: return RequestError(.tooLarge, "one past the limit `roomsPerSession`")
    case HubRefusal.gone: return RequestError(.notFound, "it is no longer there")
    case StoreError.noRoom: return RequestError(.notFound, "there is no such room")
    case let error as StoreError:
      log.error("\(error)", metadata: ["code": "\(error.code.rawValue)"])
      return RequestError(.unavailable, "the store cannot be reached", retryAfter: .seconds(1))
    default:
      log.error("an unexpected error: \(type(of: error))")
      return RequestError(.internal, "something went wrong here")
    }
  }
}
