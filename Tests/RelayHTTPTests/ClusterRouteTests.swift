// SPDX-License-Identifier: Apache-2.0
import Dispatch
import Foundation
import HTTPTypes
import Logging
import RelayProtocol
import RelayStore
import Synchronization
import TestRelay
import Testing

@testable import RelayCommands
@testable import RelayFollowers
@testable import RelayHTTP
@testable import RelayHub
@testable import RelayIdentity
@testable import RelayRequests
@testable import RelayState

/// The requests of an operator to a leader.
@Suite struct ClusterRouteTests {
  /// Keeps the calls of the operator.
  private final class Cluster: ClusterOperations {
    struct Calls {
      var waits: [@Sendable () -> Void] = []
      var snapshots = 0
    }

    private let made = Mutex(Calls())
    var calls: Calls { made.withLock { $0 } }
    var report: ClusterReport { .test("a") }
    func stepDown(after isReady: @escaping @Sendable () -> Void) { made.withLock { $0.waits.append(isReady) } }
    func requestSnapshot() { made.withLock { $0.snapshots += 1 } }
  }

  @Test func `while the log is stuck, a snapshot and a step-down do not wait for their entries in the audit log`()
    async throws
  {
    let path = FileManager.default.temporaryDirectory.path + "/stillwire-keys-\(UUID().uuidString)"
    defer { try? FileManager.default.removeItem(atPath: path) }
    let key = try APIKeys.add("operator", to: path)
    let (keys, cluster) = (try APIKeys(path: path), Cluster())
    try await TestRelay.run(http: HTTPService(site: Site(), cluster: cluster)) {
      let log = Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }
      $0.authentication = .tokens(TokenVerifier(keys: [], now: Store.timeOfDay, log: log))
      $0.apiKeys = keys
    } _: { test async throws in
      // The writer waits as for a log that does not answer.
      let gate = DispatchSemaphore(value: 0)
      defer { gate.signal() }
      await test.core.store.submit({ _ in gate.wait() }, completion: { _ in })
      for name in ["snapshot", "step-down"] {
        await test.core.answer(
          RelayHub.HTTPRequest(
            exchange: ExchangeHandle(rawValue: 1), method: "POST", path: "/v1/cluster/\(name)",
            fields: [.authorization: "Bearer \(key)"]))
      }
      let errors = await test.core.errors
      #expect(errors.isEmpty)
      #expect(cluster.calls.snapshots == 1)
      let isReady = try #require(cluster.calls.waits.first)
      let start = ContinuousClock.now
      isReady()
      #expect(ContinuousClock.now - start >= .milliseconds(900))
      #expect(await test.core.storedEntries == 0)
      gate.signal()
      while await test.core.storedEntries < 2 { await Task.yield() }
      // The wait ends with the entry.
      isReady()
      let page = try await test.core.store.read { try $0.audit.page(limit: 9) }
      #expect(page.entries.map(\.entry.operation) == ["stepDown", "publishSnapshot"])
      #expect(page.entries.allSatisfy { $0.entry.key == "operator" && $0.entry.error == nil })
    }
  }
}

extension Core {
  fileprivate func answer(_ request: RelayHub.HTTPRequest) async { await relay.http.answer(request, on: self) }
  fileprivate var errors: [ErrorCode: UInt64] { diagnostics.tally.errors }
  fileprivate var storedEntries: UInt64 { relay.audit.counters.stored }
}
