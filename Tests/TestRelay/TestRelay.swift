// SPDX-License-Identifier: Apache-2.0
import Foundation
import Logging
package import RelayCommands
import RelayDelivery
package import RelayGateways
package import RelayHub
package import RelayIdentity
package import RelayJSON
import RelayProtocol
import RelayPush
package import RelayRequests
package import RelayState
import RelayStore

/// A relay with a store in a folder of its own, for tests that call commands without a socket.
package struct TestRelay {
  package let core: Core
  package let simulator: SimulatedGateway
  private let store: Store
  private let thread: HubThread
  private let folder: String

  private init(_ http: sending any HTTPHandler, _ change: (inout RelaySettings) -> Void) throws {
    folder = FileManager.default.temporaryDirectory.path + "/stillwire-relay-\(UUID().uuidString)"
    let thread = HubThread()
    store = try Store(folder: folder) { completions in
      thread.perform { for completion in completions { completion() } }
    }
    simulator = SimulatedGateway(now: Store.timeOfDay)
    var settings = RelaySettings(.open)
    change(&settings)
    let log = Logger(label: "test") { _ in StrictLogHandler() }
    let hub = try Hub(
      HubConfiguration(
        address: "127.0.0.1", port: 0, requests: Commands.frames, hostRule: .loopback, limits: settings.limits,
        grace: settings.policy.grace),
      thread: thread
    ) { _, _ in }
    core = Core(
      hub: hub, store: store, settings: settings, gateways: Gateways(simulator), http: http,
      worker: PushWorker(store: store, gateways: [:], now: Store.timeOfDay, log: log), log: log)
    self.thread = thread
  }

  /// Starts a relay, and ends it when the body has ended.
  package static func run(
    http: sending any HTTPHandler = NoHTTP(), _ change: (inout RelaySettings) -> Void = { _ in },
    _ body: (TestRelay) async throws -> Void
  ) async throws {
    let test = try TestRelay(http, change)
    try await test.core.start()
    let result: Result<Void, any Error>
    do {
      result = .success(try await body(test))
    } catch {
      result = .failure(error)
    }
    // Work in the background ends.
    await test.core.retire()
    await test.core.stopHub()
    test.store.close()
    test.thread.end()
    try? FileManager.default.removeItem(atPath: test.folder)
    try result.get()
  }

  /// Performs a command, and returns its status and the members of its reply as JSON. `path` has the members of the
  /// request's path.
  package func perform(
    _ command: any Command.Type, by caller: Caller, _ members: [String: JSON] = [:], path: [String: JSON] = [:],
    key: String? = nil
  ) async throws -> (status: Int, body: JSON?) {
    try await core.performed(command, by: caller, Fields(members).adding(path, at: "/path"), key: key)
  }

  package func perform(_ command: any Command.Type, as user: String, _ members: [String: JSON] = [:]) async throws -> (
    status: Int, body: JSON?
  ) {
    try await perform(command, by: .backend(acting: UserID(unchecked: user)), members)
  }
}

extension Core {
  fileprivate func performed(
    _ command: any Command.Type, by caller: Caller, _ fields: Fields, key: String?
  ) async throws -> (status: Int, body: JSON?) {
    var request = Request(fields, by: caller, settings)
    request.idempotencyKey = key
    let reply = try await relay.perform(command, request, on: self)
    return (reply.status, JSON(reading: reply.text ?? JSONWriter.object(reply.members)))
  }
}

/// The HTTP side of a relay that answers no HTTP requests.
package final class NoHTTP: HTTPHandler {
  package init() {}
  package func use(_ settings: RelaySettings) {}
  package func answer(_ request: HTTPRequest, on core: isolated Core) async {}
  package func streamClosed(_ exchange: ExchangeHandle) {}
  package func endStreams(on core: isolated Core) {}
  package func endStreams(on core: isolated Core, where isEnded: (BackendKey) -> Bool) {}
}

/// Ends the test if a command answers with an error that it does not declare. Ignores all other lines.
private struct StrictLogHandler: LogHandler {
  var metadata: Logger.Metadata = [:]
  var logLevel = Logger.Level.error

  subscript(metadataKey key: String) -> Logger.Metadata.Value? {
    get { metadata[key] }
    set { metadata[key] = newValue }
  }

  func log(event: LogEvent) { precondition(!"\(event.message)".contains("does not declare"), "\(event.message)") }
}
