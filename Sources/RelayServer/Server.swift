// SPDX-License-Identifier: Apache-2.0
import Foundation
public import Logging
import RelayDelivery
import RelayGateways
import RelayHub
import RelayProtocol
import RelayStore
public import ServiceLifecycle

/// A whole relay: hub, store, push worker and page, as one service.
public final class Server: Service {
  private let relay: Relay
  private let store: Store
  private let worker: PushWorker
  private let thread: HubThread
  private let log: Logger
  /// Where it can be opened.
  public let url: String
  private let isReady: @Sendable (Server) -> Void

  /// For how long clients may take to answer their `bye`.
  static let patience = Duration.seconds(5)

  /// Opens the data and binds the port. Throws ``StartupError``, in one line for an operator.
  /// - Parameter isReady: Called when it answers, and heeds a shutdown.
  public init(
    _ configuration: ServerConfiguration, log: Logger, isReady: @escaping @Sendable (Server) -> Void = { _ in }
  ) async throws(StartupError) {
    self.isReady = isReady
    let authentication = try await Self.authentication(configuration)
    let site = try configuration.webFolder.map { folder throws(StartupError) in try Site(folder: folder) } ?? Site()
    let isOpen = configuration.secretFile == nil
    let thread = HubThread()
    do {
      store = try Store(folder: configuration.dataFolder) { completions in
        // In one hop to where they are waited for.
        thread.perform { for completion in completions { completion() } }
      }
    } catch {
      throw StartupError("\(error)")
    }
    let hub: Hub
    do {
      hub = try Hub(
        HubConfiguration(
          address: configuration.address, port: configuration.port, subprotocol: "stillwire.v1.json",
          path: "/v1/connect", origins: configuration.origins,
          requests: Relay.requests,
          loopbackHostsOnly: isOpen && !configuration.isOpenToNetwork, limits: configuration.limits,
          grace: configuration.presenceGrace),
        thread: thread
      ) { isError, line in
        log.log(level: isError ? .error : .info, "\(line)")
      }
    } catch {
      store.close()
      throw StartupError("\(error)")
    }
    let host = configuration.address.contains(":") ? "[\(configuration.address)]" : configuration.address
    url = "http://\(host):\(hub.port)"
    let simulator = SimulatedGateway(now: Store.timeOfDay)
    worker = PushWorker(
      store: store, gateways: [.simulator: simulator], now: Store.timeOfDay, log: log)
    var policy = DeliveryPolicy()
    policy.grace = configuration.presenceGrace
    relay = Relay(
      hub: hub, store: store, authentication: authentication, limits: configuration.limits, policy: policy,
      simulator: simulator, site: site, worker: worker, log: log)
    self.log = log
    self.thread = thread
    if isOpen {
      log.notice(
        "open mode: everybody is who they say. Give --secret-file to require tokens.",
        metadata: ["network": "\(configuration.isOpenToNetwork)"])
    }
    let limits = configuration.limits
    let ghost = limits.heartbeat + limits.pongTimeout + configuration.presenceGrace.seconds
    log.info("a client that is gone without a word is shown as online for at most \(ghost) s")
  }

  private static func authentication(
    _ configuration: ServerConfiguration
  ) async throws(StartupError) -> Relay.Authentication {
    guard let path = configuration.secretFile else {
      guard configuration.isOpenToNetwork || isLoopback(configuration.address) else {
        throw StartupError(
          "without --secret-file everybody is who they say, so \(configuration.address) is refused: "
            + "listen on 127.0.0.1, require tokens, or give --open-to-network")
      }
      return .open
    }
    return .tokens(await TokenVerifier(secret: try SecretFile(path: path).secret, now: Store.timeOfDay))
  }

  static func isLoopback(_ address: String) -> Bool {
    address == "localhost" || address == "::1" || address.hasPrefix("127.")
  }

  /// Serves until a graceful shutdown or cancellation; then clients are asked to come back, and all is written.
  public func run() async throws {
    try await relay.start()
    log.notice("ready", metadata: ["url": "\(url)"])
    isReady(self)
    await withTaskGroup { tasks in
      tasks.addTask { [worker] in await worker.run() }
      try? await gracefulShutdown()  // or cancellation, which ends it as well
      await closeSessions()
      tasks.cancelAll()
    }
    await relay.flush()
    await relay.stopHub()
    store.close()
    thread.end()
    log.notice("stopped")
  }

  private func closeSessions() async {
    await relay.closeSessions()
    let deadline = ContinuousClock.now + Self.patience
    while await relay.hasSessions, ContinuousClock.now < deadline {
      try? await Task.sleep(for: .milliseconds(20))
    }
  }
}
