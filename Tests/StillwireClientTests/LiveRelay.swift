// SPDX-License-Identifier: Apache-2.0
import Foundation
import Logging
import RelayServer
import StillwireClient

/// A relay in this process, on loopback and in open mode. Its data remains when it is stopped and started again.
final class LiveRelay: Sendable {
  private let folder = FileManager.default.temporaryDirectory.appending(path: "stillwire-\(UUID().uuidString)")

  deinit { try? FileManager.default.removeItem(at: folder) }

  /// Runs a relay for as long as `body` does.
  /// - Parameters:
  ///   - port: The port, or 0 for a free port.
  ///   - grace: The time for which a user without a connection is shown as online, if the client did not close it.
  ///   - change: Changes the configuration.
  func serve<Value: Sendable>(
    port: UInt16 = 0, grace: Duration = .seconds(10),
    change: @Sendable (inout ServerConfiguration) throws -> Void = { _ in },
    _ body: @escaping @Sendable (RelayAddress) async throws -> Value
  ) async throws -> Value {
    var configuration = ServerConfiguration()
    configuration.port = port
    configuration.dataFolder = folder.path
    configuration.limits.sendRate = 0
    configuration.limits.requestRate = 0
    configuration.presenceGrace = grace
    try change(&configuration)
    let server = try await Server(
      configuration, end: EndRequest(), log: Logger(label: "relay") { _ in SwiftLogNoOpLogHandler() })
    let address = RelayAddress(server.url)!
    return try await withThrowingTaskGroup(of: Void.self) { tasks in
      tasks.addTask { try await server.run() }
      let value = try await body(address)
      tasks.cancelAll()
      while let _ = try await tasks.next() {}
      return value
    }
  }
}

/// Timeout for replies. It is long, because a relay is slow while all tests run on few cores.
let patience = Duration.seconds(100)

/// Runs a client of a user while `body` runs.
func withClient<Value: Sendable>(
  of user: UserID, at address: RelayAddress, _ change: (inout Stillwire.Configuration) -> Void = { _ in },
  _ body: @escaping @Sendable (Stillwire) async throws -> Value
) async throws -> Value {
  var configuration = Stillwire.Configuration(address, device: "phone") { _ in .open(user) }
  configuration.timeout = patience
  change(&configuration)
  let client = Stillwire(configuration)
  return try await withThrowingTaskGroup(of: Void.self) { tasks in
    tasks.addTask { await client.run() }
    defer { tasks.cancelAll() }
    return try await body(client)
  }
}

extension Subscription {
  /// Returns the first element that meets the condition.
  func first(where isWanted: (Element) -> Bool) async -> Element? {
    for await element in self where isWanted(element) { return element }
    return nil
  }

  /// Returns the first elements.
  func first(_ count: Int) async -> [Element] {
    var elements: [Element] = []
    for await element in self {
      elements.append(element)
      if elements.count == count { break }
    }
    return elements
  }
}
