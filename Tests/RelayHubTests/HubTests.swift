// SPDX-License-Identifier: Apache-2.0
import RelayProtocol
import Testing

@testable import RelayHub

/// `Hub`: binding a port, and events without a receiver. `CRelayTests` tests the hub in C.
@Suite struct HubTests {
  @Test func `the hub selects a free port before its start`() throws {
    let (first, second) = (try LoopbackHub(HubThread()), try LoopbackHub(HubThread()))
    #expect(first.port != 0 && second.port != 0 && first.port != second.port)
  }

  @Test func `the error for a port in use contains the address and the port`() throws {
    let first = try LoopbackHub(HubThread())
    let error = #expect(throws: HubError.self) { try LoopbackHub(HubThread(), port: first.port) }
    #expect(error?.code == .addressInUse)
    #expect(error?.description == "127.0.0.1:\(first.port) is in use by another process")
  }

  @Test func `the error for an address without an interface contains the address`() throws {
    let error = #expect(throws: HubError.self) { try LoopbackHub(HubThread(), address: "192.0.2.1") }
    #expect(error?.code == .addressUnusable)
    #expect(error?.description.hasPrefix("cannot listen on 192.0.2.1:0: ") == true)
  }

  @Test func `the hub keeps events until it has a receiver`() async throws {
    // With an empty slice, the loop delivers the alarm between the two jobs.
    let thread = HubThread(slice: .zero)
    let hub = try LoopbackHub(thread)
    let record = Record()
    await withCheckedContinuation { continuation in
      record.notify(at: 2) { continuation.resume() }
      thread.perform { hub.setAlarmNow() }
      thread.perform {
        record.add("set")
        hub.onAlarm { record.add("alarm") }
      }
      hub.start()
    }
    hub.end()
    #expect(record.lines == ["set", "alarm"])
  }
}

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
