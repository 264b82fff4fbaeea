// SPDX-License-Identifier: Apache-2.0
import RelayProtocol
import TestRelay
import Testing

@testable import RelayCommands
@testable import RelayGateways
@testable import RelayHTTP
@testable import RelayHub
@testable import RelayState

/// Streams of server-sent events that the hub rejects.
@Suite struct RefusedStreamTests {
  @Test func `a stream that the hub rejects leaves no task and no listener`() async throws {
    try await TestRelay.run(http: HTTPService(site: Site())) { test async throws in
      // The hub rejects a stream on an exchange that does not exist.
      await test.core.answer(
        HTTPRequest(exchange: ExchangeHandle(rawValue: 1), path: "/v1/simulator/devices/phone/events"))
      let errors = await test.core.errors
      #expect(errors.isEmpty)
      #expect(await test.core.hasNoStreams)
      #expect(test.simulator.listenerCounts.isEmpty)
    }
  }
}

extension Core {
  fileprivate func answer(_ request: HTTPRequest) async { await relay.http.answer(request, on: self) }
  fileprivate var errors: [ErrorCode: UInt64] { diagnostics.tally.errors }
  fileprivate var hasNoStreams: Bool { (relay.http as? HTTPService)?.hasNoStreams == true }
}
