// SPDX-License-Identifier: Apache-2.0
import Logging
import RelayHTTP
import RelayHub
import RelayIdentity
import RelayProtocol

/// The listener of a node that does not lead: a hub without sessions. It runs on the hub's thread.
actor Standby {
  private nonisolated let thread: HubThread
  nonisolated var unownedExecutor: UnownedSerialExecutor { thread.asUnownedSerialExecutor() }

  private let hub: Hub
  private var service: StandbyService
  /// The port on which the node listens.
  nonisolated let port: UInt16

  /// Binds the port.
  init(_ configuration: ServerConfiguration, _ service: StandbyService, log: Logger) throws(HubError) {
    let thread = HubThread()
    hub = try Hub(configuration.hub(isStandby: true, logsDebug: log.logLevel <= .debug), thread: thread) {
      level, line in
      log.log(level: Logger.Level(level), "\(line)")
    }
    port = hub.port
    self.thread = thread
    self.service = service
    hub.start()
  }

  /// Begins to answer requests.
  func start() {
    // Unowned is safe, because the hub's loop ends before the standby is released.
    hub.receive = { [unowned self] events in assumeIsolated { $0.handle(events) } }
  }

  /// Replaces the rule for the operator's requests.
  func use(_ service: StandbyService) { self.service = service }

  private func handle(_ events: [HubEvent]) {
    for case .http(let request) in events { Task { await answer(request) } }
  }

  private func answer(_ request: HTTPRequest) async {
    let response = await service.response(to: request)
    hub.respond(to: request.exchange, with: response)
  }

  /// Frees the port.
  func freePort() { hub.closeListener() }

  /// Ends the loop, and cuts the connections.
  func stop() { hub.stop() }

  /// Ends the thread, after ``stop()``.
  nonisolated func endThread() { thread.end() }
}
