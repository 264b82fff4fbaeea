// SPDX-License-Identifier: Apache-2.0
import Foundation
public import Logging
import RelayCommands
import RelayDelivery
import RelayGateways
import RelayHTTP
import RelayHub
public import RelayIdentity
import RelayProtocol
import RelayPush
import RelayRequests
import RelayState
import RelayStore
import ServiceLifecycle
import Synchronization

/// A complete relay: hub, store, push worker and page. This file creates the parts, connects them, and ends them in
/// order.
public final class Server: Sendable {
  private let core: Core
  private let store: Store
  private let worker: PushWorker
  private let thread: HubThread
  private let gateways: Gateways
  let drainDelay: Duration
  /// True for the leader of a cluster.
  private let isLeader: Bool
  /// The configuration after the last reload. A setting that needs a restart has its value from the start.
  private let configuration: Mutex<ServerConfiguration>
  /// Answers the operator of a leader that waits for a proof. Is `nil` for a single node.
  private let heldService: HeldService?
  private let log: Logger
  /// The URL of the relay, for browsers on this machine.
  public let url: String
  private let isReady: @Sendable (_ url: String) -> Void
  private let endRequest: EndRequest

  /// The default delay before draining on an address that is not loopback. It is long enough for a load balancer that
  /// checks `/ready` every few seconds.
  static let defaultDrainDelay = Duration.seconds(5)

  /// Opens the database and binds the port. Throws ``StartupError``, whose text is one line for an operator.
  /// - Parameters:
  ///   - end: The request to drain, which another part of the program makes.
  ///   - isReady: Called with the URL when the relay answers requests.
  public convenience init(
    _ configuration: ServerConfiguration, end: EndRequest, log: Logger,
    isReady: @escaping @Sendable (_ url: String) -> Void = { _ in }
  ) async throws(StartupError) {
    try await self.init(configuration, leadership: nil, end: end, log: log, isReady: isReady)
  }

  /// Opens the database and binds the port. Throws ``StartupError``.
  /// - Parameters:
  ///   - leadership: The cluster whose leader this node is. Is `nil` for a single node.
  ///   - end: The request to drain, which another part of the program makes.
  ///   - isReady: Called with the URL when the relay answers requests.
  init(
    _ configuration: ServerConfiguration, leadership: Leadership?, end: EndRequest, log: Logger,
    isReady: @escaping @Sendable (_ url: String) -> Void
  ) async throws(StartupError) {
    self.isReady = isReady
    isLeader = leadership != nil
    endRequest = end
    self.configuration = Mutex(configuration)
    let settings = try await Self.settings(configuration, log)
    let site = try configuration.webFolder.map { folder throws(StartupError) in try Site(folder: folder) } ?? Site()
    gateways = try Gateways(configuration, log)
    let isOpen = configuration.identity.isOpen
    let thread = HubThread()
    let heldService = leadership.map { HeldService($0.operations, .init(settings)) }
    self.heldService = heldService
    do {
      store = try await Self.open {
        () throws(StoreError) in
        try Store(
          folder: configuration.dataFolder,
          // In a cluster the log is on disk before a commit.
          synchronous: leadership == nil ? configuration.synchronous : .normal, journal: leadership?.journal
        ) { completions in
          // Runs all completions on the hub's thread with one wake.
          thread.perform { for completion in completions { completion() } }
        }
      }
    } catch {
      throw StartupError("\(error)")
    }
    Hub.logLibrary { log.warning("\($0)") }
    await leadership?.beforeListening()
    let hub: Hub
    do throws(HubError) {
      let bind = { () throws(HubError) in
        try Hub(
          configuration.hub(logsDebug: log.logLevel <= .debug), thread: thread, service: leadership.map { $0.service },
          held: heldService.map { $0.hub }
        ) { level, line in
          log.log(level: Logger.Level(level), "\(line)")
        }
      }
      hub = if leadership == nil { try bind() } else { try await PortRetry.perform(log, bind) }
    } catch {
      store.close()
      throw StartupError("\(error)")
    }
    let host = configuration.address.contains(":") ? "[\(configuration.address)]" : configuration.address
    url = "http://\(host):\(hub.port)"
    worker = PushWorker(
      store: store, gateways: gateways.byPlatform, now: Store.timeOfDay,
      ownsClaims: { await leadership?.waitForProof() ?? true }, log: log)
    core = Core(
      hub: hub, store: store, settings: settings, gateways: gateways,
      http: HTTPService(site: site, cluster: leadership?.operations), worker: worker, log: log)
    // In a cluster, no other node serves before this one ends.
    drainDelay =
      leadership != nil
      ? .zero : configuration.drainDelay ?? (Self.isLoopback(configuration.address) ? .zero : Self.defaultDrainDelay)
    self.log = log
    self.thread = thread
    if let loss = store.loss {
      log.warning(
        "the database lacks data that an earlier run has stored: all rooms begin new epochs",
        metadata: ["loss": "\(loss.rawValue)"])
    }
    // A node has logged them already.
    if leadership == nil { ForeignTables(log: log).note(store.foreignTables) }
    if isOpen {
      log.notice(
        "open mode: the relay trusts the user name that a client sends. Give --secret-file to require tokens.",
        metadata: ["network": "\(configuration.isOpenToNetwork)"])
    }
    let limits = configuration.limits
    let ghost = limits.heartbeat + limits.pongTimeout + configuration.presenceGrace.seconds
    log.info("a client whose connection is lost is shown as online for at most \(ghost) s")
  }

  /// Opens a store on a thread of its own: migrations may take long, and the threads of Swift's tasks must stay free for
  /// the signals that end the process meanwhile.
  private static func open(
    _ open: @escaping @Sendable () throws(StoreError) -> Store
  ) async throws(StoreError) -> Store {
    let handover = Handover<Result<Store, StoreError>>()
    let thread = Thread { handover.give(Result(catching: open)) }
    thread.stackSize = 4 << 20
    thread.start()
    return try await handover.value().get()
  }

  /// Checks the files in the configuration. Does not open the database or bind the port. Throws ``StartupError``.
  public static func check(_ configuration: ServerConfiguration) async throws(StartupError) {
    _ = try await checked(configuration, Logger(label: "stillwire.check"))
  }

  private static func checked(_ configuration: ServerConfiguration, _ log: Logger) async throws(StartupError)
    -> RelaySettings
  {
    if let folder = configuration.webFolder { _ = try Site(folder: folder) }
    _ = try Gateways(configuration, log)
    if configuration.cluster.isOn { _ = try configuration.cluster.nats(configuration.cluster.leader()) }
    return try await settings(configuration, log)
  }

  /// Applies the settings that need no restart, including token keys. Logs the changed settings that need one. If a
  /// setting or one of its files is wrong, throws ``StartupError`` and changes nothing.
  public func reload(_ configuration: ServerConfiguration) async throws(StartupError) {
    // Also checks the settings that need a restart, so that a mistake is found now.
    var settings = try await Self.checked(configuration, log)
    var configuration = configuration
    let before = self.configuration.withLock { $0 }
    let fixed = configuration.keep(fixedOf: before)
    if fixed.contains("tokens") { settings = try await Self.settings(configuration, log) }
    await core.reload(settings)
    heldService?.use(.init(settings))
    self.configuration.withLock { [configuration] in $0 = configuration }
    if !fixed.isEmpty {
      log.warning("these changes need a restart", metadata: ["keys": "\(fixed.joined(separator: ", "))"])
    }
    log.notice("the configuration was read again")
  }

  private static func settings(
    _ configuration: ServerConfiguration, _ log: Logger
  ) async throws(StartupError) -> RelaySettings {
    var settings = RelaySettings(try await authentication(configuration, log))
    settings.apiKeys = try configuration.identity.readAPIKeys()
    settings.identityGrace = configuration.identity.grace
    settings.limits = configuration.limits
    settings.policy.grace = configuration.presenceGrace
    settings.rooms = configuration.rooms
    settings.isMetricsOpen = configuration.isMetricsOpen
    settings.pace = configuration.pace
    settings.reconnect = configuration.presenceReconnect
    settings.invitations = configuration.invitations
    settings.streamsPerKey = configuration.streamsPerKey
    settings.audit = configuration.audit
    settings.takesSimulators = configuration.takesSimulators ?? configuration.identity.isOpen
    settings.apps = configuration.apps
    settings.pushTexts = configuration.pushTexts
    settings.appleApps = try configuration.apps.readKeys()
    settings.matrixApps = try configuration.apps.readSecrets()
    settings.webPushKey = try configuration.webPush.readKey()
    settings.pushServices = configuration.webPush.services
    settings.timeZones = ZoneFolder(configuration.zoneFolder).read(log)
    return settings
  }

  private static func authentication(
    _ configuration: ServerConfiguration, _ log: Logger
  ) async throws(StartupError) -> RelaySettings.Authentication {
    let identity = configuration.identity
    guard !identity.isOpen else {
      guard configuration.isOpenToNetwork || isLoopback(configuration.address) else {
        throw StartupError(
          "without keys for tokens the relay trusts every client, so \(configuration.address) is refused: "
            + "listen on 127.0.0.1, require tokens, or give --open-to-network")
      }
      return .open
    }
    return .tokens(try await identity.verifier(now: Store.timeOfDay, log: log))
  }

  /// True for `localhost`, `::1` and 127.0.0.0/8. A host name that begins with `127.` is not an address, so it does
  /// not count as loopback.
  static func isLoopback(_ address: String) -> Bool {
    if address == "localhost" || address == "::1" { return true }
    let parts = address.split(separator: ".", omittingEmptySubsequences: false)
    return parts.count == 4 && parts[0] == "127"
      && parts.allSatisfy { $0.allSatisfy { ("0"..."9").contains($0) } && UInt8($0) != nil }
  }

  /// Serves until the request to end is made, or the task is cancelled. Then the relay drains: it asks clients to
  /// reconnect, and writes all data to disk. Throws ``StartupError`` if the relay cannot start.
  public func run() async throws {
    let start = ServerStart(core, worker, store, log: log)
    let group = ServiceGroup(
      configuration: ServiceGroupConfiguration(
        services: services(after: start).map { .init(service: $0) } + [endRequest.service], logger: log))
    do {
      try await group.run()
    } catch {
      await close()
      // Only the start throws an error of the store.
      guard error is StoreError else { throw error }
      throw StartupError("\(store.startError(error))")
    }
    await close()
    log.notice("stopped")
  }

  /// The services of a running relay. A graceful shutdown ends them one after another, from the last to the first: the
  /// relay drains, then the push worker waits for its pushes, and then the background loops end.
  /// - Parameter start: The start, for which each service waits before it begins.
  private func services(after start: ServerStart) -> [any Service] {
    let deadline = DrainDeadline()
    return [
      StoreProbe(store: store, start: start, deadline: isLeader ? nil : deadline, log: log),
      RetentionSweep(core: core, store: store, start: start, log: log),
      PushService(worker: worker, start: start, deadline: deadline),
      RelayService(core: core, start: start, drainDelay: drainDelay, deadline: deadline, log: log) {
        [isReady, log, url] in
        log.notice("ready", metadata: ["url": "\(url)"])
        isReady(url)
      },
    ]
  }

  /// Stores the position of the log, see ``Store/savePosition(_:)``.
  func savePosition(_ position: @escaping @Sendable () -> String) { store.savePosition(position) }

  /// See ``Store/damage``. Any thread.
  var damage: StoreError? { store.damage }

  /// False after a transaction that did not reach the disk, until one does. Any thread.
  var isStoreAvailable: Bool { store.statistics.isAvailable }

  /// Makes the hub read the leadership's service again. Any thread.
  func serviceChanged() { thread.wakeLoop() }

  /// The timeout for the hub to deliver its last changes, which takes one iteration of its loop. The hub of a leader
  /// that cannot prove its leadership delivers none.
  private static let flushTimeout = Duration.seconds(1)

  /// Writes delayed changes to the store, and ends the parts that the services have used.
  private func close() async {
    gateways.close()
    await core.flush()
    // Without this wait, the hub could deliver the last changes after the store has closed.
    await core.waitForFlush(until: .now + Self.flushTimeout)
    await core.stopHub()
    store.close()
    thread.end()
  }
}

extension Logger.Level {
  init(_ level: HubLogLevel) {
    self =
      switch level {
      case .debug: .debug
      case .info: .info
      case .error: .error
      }
  }
}

/// A single relay, or a node of a cluster.
public protocol RunningServer: Sendable {
  /// Applies the settings that need no restart. Throws ``StartupError`` and changes nothing if a setting is wrong.
  func reload(_ configuration: ServerConfiguration) async throws(StartupError)
  /// Serves until the ``EndRequest`` of the server is made, or the task is cancelled.
  func run() async throws
}

extension Server: RunningServer {}
