// SPDX-License-Identifier: Apache-2.0
import CRelay
import Foundation
public import RelayProtocol
import Synchronization

// The Swift side of the hub in C (`CRelay`): configuration, creation, the loop and its callbacks. The other files
// `Hub+….swift` wrap the functions of `relay.h` by subject.

/// The configuration of a hub.
public struct HubConfiguration: Sendable {
  /// A numeric address or a host name.
  public var address: String
  /// 0 means any free port.
  public var port: UInt16
  public var subprotocol = "stillwire.v1.json"
  /// The path of WebSocket handshakes.
  public var path = "/v1/connect"
  /// The allowed values of `Origin`. If empty, only the server's own origin is allowed.
  public var origins: [String]
  /// The types of frames, other than `hello`, that the hub delivers with ``HubEvent/request(_:)``.
  public var requests: [RequestType]
  /// The kinds of `Host` that are accepted without being listed.
  public var hostRule: HostRule
  /// Host names that are accepted besides those of ``hostRule``.
  public var hosts: [String]
  public var limits: Limits
  /// The time for which a user is still shown as online after their last session ended without a close.
  public var grace: Duration
  public var connections: ConnectionLimits
  /// True if the log also takes lines of ``HubLogLevel/debug``.
  public var logsDebug: Bool
  /// The time after which a session with `acks` counts as in the background, if it leaves a message without `received`.
  /// Is `nil` for a hub that does not judge sessions.
  public var receivedTimeout: Duration? = .seconds(30)
  /// True for a hub without sessions: it delivers a valid handshake with ``HubEvent/http(_:)``.
  public var isStandby = false

  public init(
    address: String, port: UInt16, origins: [String] = [], requests: [RequestType], hostRule: HostRule = .any,
    hosts: [String] = [], limits: Limits, grace: Duration, connections: ConnectionLimits = ConnectionLimits(),
    logsDebug: Bool = false
  ) {
    self.address = address
    self.port = port
    self.origins = origins
    self.requests = requests
    self.hostRule = hostRule
    self.hosts = hosts
    self.limits = limits
    self.grace = grace
    self.connections = connections
    self.logsDebug = logsDebug
  }
}

/// A type of frame that the hub delivers as a request, and the rate limit of which each such frame takes a token.
public struct RequestType: Sendable {
  public let name: String
  public let rate: Rate

  public init(name: String, rate: Rate) {
    self.name = name
    self.rate = rate
  }
}

extension [RequestType] {
  /// Calls `body` with the types as C values, which are valid only during the call.
  fileprivate func withTypes<T>(_ body: (UnsafeBufferPointer<relay_request_type_t>) -> T) -> T {
    let names = map { strdup($0.name) }
    defer { names.forEach { free($0) } }
    let types = zip(names, self).map { relay_request_type_t(name: $0, rate: $1.rate.kind) }
    return types.withUnsafeBufferPointer(body)
  }
}

/// The level of a line in the hub's log.
public enum HubLogLevel: Sendable {
  case debug, info, error

  fileprivate init(_ level: relay_log_level_t) {
    self =
      switch level {
      case RELAY_LOG_ERROR: .error
      case RELAY_LOG_INFO: .info
      default: .debug
      }
  }
}

/// The values of `Host` that a hub accepts. This protects against DNS rebinding: an attacker's page whose name resolves
/// to the relay's address sends its own name in `Host`, and the hub refuses it.
public enum HostRule: Sendable {
  case any
  /// An address, `localhost`, or a listed name.
  case addresses
  /// A loopback address, `localhost`, or a listed name.
  case loopback

  fileprivate var code: relay_host_rule {
    switch self {
    case .any: RELAY_HOSTS_ANY
    case .addresses: RELAY_HOSTS_ADDRESSES
    case .loopback: RELAY_HOSTS_LOOPBACK
    }
  }
}

/// The service that the clients of a hub get.
public enum HubService: Sendable {
  case serves
  /// The hub keeps the requests of sessions, and runs no job of its thread. It answers `/live`, calls ``HeldRequests``,
  /// and answers all other HTTP requests and handshakes with 503.
  case held
  /// For good: the hub closes all sessions at once, and sends them nothing else. HTTP connections are cut.
  case ended
}

/// The HTTP requests that are answered while the hub is held.
public struct HeldRequests: Sendable {
  /// The paths, as clients write them.
  let paths: [String]
  /// Called on the hub's thread. It must not call the hub.
  let answer: @Sendable (HTTPRequest) -> HTTPResponse

  public init(paths: [String], answer: @escaping @Sendable (HTTPRequest) -> HTTPResponse) {
    self.paths = paths
    self.answer = answer
  }
}

/// The reason why a hub could not be created.
public struct HubError: Error, CustomStringConvertible {
  public enum Code: String, Sendable { case addressInUse, addressUnusable, failed }
  public let code: Code
  public let description: String
}

/// Rooms, sessions and users on one thread: the Swift side of `relay.h`.
///
/// It is not sendable: it belongs to the actor whose executor is its ``thread``. The hub delivers events on that
/// thread, and never while one of its methods runs. Exception: setting ``receive`` delivers the earlier events at once.
public final class Hub {
  public let thread: HubThread
  /// The port on which the hub listens.
  public let port: UInt16
  let hub: OpaquePointer
  /// Receives the hub's events, on the hub's thread. Events that happened before it was set are delivered first.
  public var receive: (([HubEvent]) -> Void)? {
    didSet {
      guard let receive, !early.isEmpty else { return }
      let events = early
      early = []
      receive(events)
    }
  }
  private var early: [HubEvent] = []
  private let service: (@Sendable () -> HubService)?
  private let held: HeldRequests?
  private let log: @Sendable (HubLogLevel, String) -> Void

  /// Creates a hub and binds its port. The hub accepts connections after ``start()``.
  ///
  /// - Parameters:
  ///   - thread: A thread that no other hub uses.
  ///   - service: Returns the service that clients get now. The hub calls it on its thread before each iteration and
  ///     each answer. It must not block, and must not call the hub. After a change, call ``HubThread/wakeLoop()``.
  ///   - held: The requests that are answered while the hub is held. Without it, the hub answers all with 503.
  ///   - log: Receives log lines for the operator, on the hub's thread.
  public init(
    _ configuration: HubConfiguration, thread: HubThread, service: (@Sendable () -> HubService)? = nil,
    held: HeldRequests? = nil, log: @escaping @Sendable (HubLogLevel, String) -> Void
  ) throws(HubError) {
    // The box gets its owner at the end, when `self` exists. No callback runs before the loop.
    let box = CallbackBox()
    guard let hub = Self.create(configuration, box, hasService: service != nil, held?.paths) else {
      throw HubError(code: .failed, description: "libwebsockets could not be started")
    }
    let error = relay_hub_listen(hub)
    guard error == 0 else {
      relay_hub_destroy(hub)
      let endpoint = "\(configuration.address):\(configuration.port)"
      throw switch error {
      case EADDRINUSE: HubError(code: .addressInUse, description: "\(endpoint) is in use by another process")
      default:
        HubError(
          code: .addressUnusable, description: "cannot listen on \(endpoint): \(String(cString: strerror(error)))")
      }
    }
    self.hub = hub
    self.log = log
    self.service = service
    self.held = held
    port = relay_hub_port(hub)
    self.thread = thread
    self.box = box
    box.owner = self
  }

  /// Sends the log lines of libwebsockets to this log instead of standard error, for all hubs of the process. Any
  /// thread.
  public static func logLibrary(_ log: @escaping @Sendable (String) -> Void) {
    libraryLog.withLock { $0 = log }
    relay_log_library { line in
      guard let line else { return }
      let log = Hub.libraryLog.withLock { $0 }
      log?(String(cString: line))
    }
  }

  private static let libraryLog = Mutex<(@Sendable (String) -> Void)?>(nil)

  deinit { relay_hub_destroy(hub) }

  private let box: CallbackBox

  /// The context of the C callbacks. It exists longer than the loop, because the hub owns it.
  fileprivate final class CallbackBox {
    unowned(unsafe) var owner: Hub?
  }

  private static func create(
    _ configuration: HubConfiguration, _ box: CallbackBox, hasService: Bool, _ heldPaths: [String]?
  ) -> OpaquePointer? {
    (heldPaths ?? []).joined(separator: " ").withCString { held in
      create(configuration, box, hasService: hasService, heldPaths: held)
    }
  }

  private static func create(
    _ configuration: HubConfiguration, _ box: CallbackBox, hasService: Bool, heldPaths: UnsafePointer<CChar>
  ) -> OpaquePointer? {
    return configuration.address.withCString { address in
      configuration.subprotocol.withCString { subprotocol in
        configuration.path.withCString { path in
          configuration.origins.joined(separator: " ").withCString { origins in
            configuration.requests.withTypes { requests in
              configuration.connections.trustedProxies.joined(separator: " ").withCString { proxies in
                configuration.hosts.joined(separator: " ").withCString { hosts in
                  var config = relay_config(
                    address: address, port: configuration.port, subprotocol: subprotocol, path: path, origins: origins,
                    requests: requests.baseAddress, request_count: requests.count, trusted_proxies: proxies,
                    host_rule: configuration.hostRule.code, hosts: hosts, held_paths: heldPaths,
                    logs_debug: configuration.logsDebug, is_standby: configuration.isStandby,
                    limits: Self.limits(
                      configuration.limits, grace: configuration.grace, connections: configuration.connections,
                      receivedTimeout: configuration.receivedTimeout))
                  var callbacks = relay_callbacks(
                    context: Unmanaged.passUnretained(box).toOpaque(), woken: Self.woken, happened: Self.happened,
                    log: Self.logged, service: hasService ? Self.serviceNow : nil, held: Self.answerHeld)
                  return relay_hub_create(&config, &callbacks)
                }
              }
            }
          }
        }
      }
    }
  }

  private static func limits(
    _ limits: Limits, grace: Duration, connections: ConnectionLimits, receivedTimeout: Duration?
  ) -> relay_limits {
    func milliseconds(_ seconds: Double) -> UInt32 { UInt32((seconds * 1000).rounded()) }
    return relay_limits(
      frame: UInt32(limits.frame), nesting: UInt32(limits.nesting),
      outgoing_queue: UInt32(limits.outgoingQueue), rooms_per_session: UInt32(limits.roomsPerSession),
      sessions_per_user: UInt32(limits.sessionsPerUser), send_rate: limits.sendRate,
      request_rate: limits.requestRate, focus_rate: limits.focusRate,
      send_burst: UInt32(limits.sendBurst),
      request_burst: UInt32(limits.requestBurst), focus_burst: UInt32(limits.focusBurst),
      watched: UInt32(limits.watched), hello_timeout: milliseconds(limits.helloTimeout),
      heartbeat: milliseconds(limits.heartbeat), pong_timeout: milliseconds(limits.pongTimeout),
      member_list: UInt32(limits.memberList), pushed_members: UInt32(limits.pushedMembersPerRoom),
      presence_grace: milliseconds(grace.seconds),
      connections: UInt32(connections.max),
      connections_per_address: UInt32(connections.perAddress),
      idle_timeout: milliseconds(connections.idleTimeout.seconds),
      received_timeout: milliseconds(receivedTimeout?.seconds ?? 0),
      requests_per_user: UInt32(connections.requestsPerUser),
      unsent_per_user: UInt64(connections.unsentPerUser), unsent: UInt64(connections.unsent))
  }

  /// Changes the limits, except those of connections and `receivedTimeout`. A room keeps its `memberList` until
  /// ``configure(_:traits:memberList:maxMembers:)``.
  public func setLimits(_ limits: Limits, grace: Duration) {
    var limits = Self.limits(limits, grace: grace, connections: ConnectionLimits(), receivedTimeout: nil)
    relay_hub_set_limits(hub, &limits)
  }

  // These functions are nonisolated: a closure from isolated code would check its isolation when C calls it.
  private static let woken: @convention(c) (UnsafeMutableRawPointer?) -> Void = { context in
    owner(context).thread.runJobs()
  }

  private static let happened: @convention(c) (UnsafeMutableRawPointer?, UnsafePointer<relay_event>?, Int) -> Void = {
    context, events, count in
    let hub = owner(context)
    let events = UnsafeBufferPointer(start: events, count: count).compactMap(HubEvent.init)
    hub.thread.runJobs { if let receive = hub.receive { receive(events) } else { hub.early += events } }
  }

  private static let serviceNow: @convention(c) (UnsafeMutableRawPointer?) -> relay_service_t = {
    switch owner($0).service?() ?? .serves {
    case .serves: RELAY_SERVES
    case .held: RELAY_HELD
    case .ended: RELAY_ENDED
    }
  }

  private static let answerHeld:
    @convention(c) (UnsafeMutableRawPointer?, relay_id_t, UnsafePointer<relay_http>?) -> Void = {
      context, exchange, http in
      let hub = owner(context)
      guard let http, let held = hub.held else { return }
      let handle = ExchangeHandle(rawValue: exchange)
      hub.respond(to: handle, with: held.answer(HTTPRequest(exchange: handle, http.pointee)))
    }

  private static let logged:
    @convention(c) (UnsafeMutableRawPointer?, relay_log_level_t, UnsafePointer<CChar>?) -> Void = {
      context, level, line in
      guard let line else { return }
      owner(context).log(HubLogLevel(level), String(cString: line))
    }

  private static func owner(_ context: UnsafeMutableRawPointer?) -> Hub {
    guard let context, let owner = Unmanaged<CallbackBox>.fromOpaque(context).takeUnretainedValue().owner else {
      preconditionFailure("the hub's loop runs without its owner")
    }
    return owner
  }

  /// Runs the loop on the hub's thread until ``stop()``. From now on the hub belongs to that thread.
  public func start() {
    let loop = LoopOwner(hub: self)
    thread.start {
      let hub = loop.hub
      hub.thread.withLoop(of: hub.hub) { relay_hub_run(hub.hub) }
    }
  }

  private struct LoopOwner: @unchecked Sendable {
    // Moves the hub to its thread, to which it belongs from then on.
    let hub: Hub
  }

  /// Queues the events of changed marks and cursors immediately, which otherwise follow within a second. Also queues
  /// ``HubEvent/userSeen(_:lastSeen:activity:)`` for users who are still online, and at last ``HubEvent/flushed``.
  public func flush() { relay_hub_flush(hub) }

  /// Ends the loop after this iteration, and closes the sockets of all remaining sessions. A second `stop` has no
  /// effect.
  public func stop() { relay_hub_stop(hub) }

  /// Starts draining: the hub answers new handshakes with 503, and closes all sessions within some seconds. Each `bye`
  /// has a time for the reconnect.
  /// - Parameter reason: At most 63 bytes.
  public func drain(_ code: CloseCode, _ reason: String) { relay_hub_drain(hub, code.rawValue, reason) }

  /// Closes the listening socket, so that the hub accepts no more connections.
  public func closeListener() { relay_hub_close_listener(hub) }

  public var hasSessions: Bool { sessionCount > 0 }

  /// The number of sessions, including closing ones.
  public var sessionCount: Int { relay_hub_counts(hub).sessions }

  /// True if the hub has an HTTP request in progress.
  public var hasExchanges: Bool { relay_hub_counts(hub).exchanges > 0 }

  public var now: Timestamp { Timestamp(rawValue: relay_hub_now(hub)) }

  /// The time on a clock that nobody can set. Its origin has no meaning.
  public var clock: Duration { .milliseconds(relay_hub_clock(hub)) }

  /// Requests one ``HubEvent/alarm`` at this time. `nil` cancels it.
  public func setAlarm(_ time: Timestamp?) { relay_hub_set_alarm(hub, time?.rawValue ?? 0) }

  /// Sets the clock, for simulations. After the first call, the clock advances only by further calls. The first call
  /// must precede all sessions.
  /// - Parameter now: A time that is not before that of the previous call.
  public func setClock(_ now: Timestamp) { relay_hub_set_clock(hub, now.rawValue) }

  /// The time at which the next timer of the hub is due. Is `nil` if no timer is set.
  public var nextDue: Timestamp? {
    let due = relay_hub_next_due(hub)
    return due == .max ? nil : Timestamp(rawValue: due)
  }
}
