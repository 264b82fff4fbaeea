// SPDX-License-Identifier: Apache-2.0
import Testing

@testable import RelayServer

/// `Server.isLoopback`, which decides if open mode may listen on an address.
@Suite struct LoopbackTests {
  @Test(arguments: ["localhost", "::1", "127.0.0.1", "127.255.255.255"])
  func `an address that only this machine reaches is loopback`(address: String) {
    #expect(Server.isLoopback(address))
  }

  @Test(arguments: [
    "127.example.org", "127.0.0.1.example.org", "127.0.0.256", "127.0.0", "127..0.1", "127.0.0.+1", "127.", "0.0.0.0",
    "::", "192.168.127.1", "",
  ])
  func `an address that other machines may reach is not loopback`(address: String) {
    #expect(!Server.isLoopback(address))
  }
}
