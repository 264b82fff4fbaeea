// SPDX-License-Identifier: Apache-2.0
import Logging
import Testing

@testable import RelayHub
@testable import RelayServer

@Suite struct PortRetryTests {
  private let log = Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }

  /// Returns the number of attempts and the result, if the first ones fail with this code.
  private func result(failures: Int, _ code: HubError.Code) async -> (attempts: Int, isBound: Bool) {
    var attempts = 0
    do {
      try await PortRetry.perform(log, wait: { _ in }) { () throws(HubError) in
        attempts += 1
        if attempts <= failures { throw HubError(code: code, description: "no") }
      }
      return (attempts, true)
    } catch {
      return (attempts, false)
    }
  }

  @Test func `a port in use is tried again for 5 s`() async {
    #expect(await result(failures: 0, .addressInUse) == (1, true))
    #expect(await result(failures: 7, .addressInUse) == (8, true))
    #expect(await result(failures: 1_000, .addressInUse) == (101, false))
  }

  @Test func `an address that is not usable is not tried again`() async {
    #expect(await result(failures: 1, .addressUnusable) == (1, false))
  }
}
