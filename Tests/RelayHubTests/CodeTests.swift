// SPDX-License-Identifier: Apache-2.0
import RelayHub
import RelayProtocol
import Testing

/// Close codes and error codes are the same in C and Swift.
@Suite struct CodeTests {
  @Test func `the hub has the close codes of the protocol`() {
    let ofClients: Set = [0, 1000, 1001, 1006]
    #expect(Set(HubStatistics.countedCloses).subtracting(ofClients) == Set(CloseCode.allCases.map { Int($0.rawValue) }))
  }

  @Test func `the hub has the error codes of the protocol`() {
    #expect(Set(HubStatistics.countedErrors) == Set(ErrorCode.allCases.map(\.rawValue)))
  }
}
