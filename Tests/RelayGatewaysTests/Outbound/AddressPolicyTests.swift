// SPDX-License-Identifier: Apache-2.0
import NIOCore
import Testing

@testable import RelayGateways

@Suite struct AddressPolicyTests {
  private func permits(_ address: String, allowing ranges: [String] = []) throws -> Bool {
    let policy = AddressPolicy(allowed: try ranges.map { try #require(AddressRange($0)) })
    return policy.permits(try SocketAddress(ipAddress: address, port: 443))
  }

  @Test(arguments: [
    "8.8.8.8", "17.188.1.1", "172.15.255.255", "172.32.0.1", "11.0.0.1", "100.63.0.1", "100.128.0.1", "192.0.1.1",
    "223.255.255.254", "2607:f8b0::1", "2a00:1450:4001::1", "2003::1", "2001:200::1", "::ffff:8.8.8.8",
    "64:ff9b::808:808",
  ])
  func `public addresses are permitted`(_ address: String) throws { #expect(try permits(address)) }

  @Test(arguments: [
    "0.0.0.0", "0.1.2.3", "10.0.0.1", "10.255.255.255", "100.64.0.1", "100.127.255.255", "127.0.0.1", "127.255.0.1",
    "169.254.169.254", "172.16.0.1", "172.31.255.255", "192.0.0.1", "192.0.2.1", "192.88.99.1", "192.168.1.1",
    "198.18.0.1", "198.19.255.255", "198.51.100.1", "203.0.113.1", "224.0.0.1", "239.1.1.1", "240.0.0.1",
    "255.255.255.255", "::", "::1", "::127.0.0.1", "fe80::1", "fc00::1", "fd12:3456::1", "ff02::1", "2001::1",
    "2001:db8::1", "2002:7f00:1::1", "3fff::1", "100::1", "5f00::1", "::ffff:127.0.0.1", "::ffff:10.0.0.1",
    "::ffff:169.254.169.254", "64:ff9b::7f00:1", "64:ff9b::a00:1", "64:ff9b:1::1",
  ])
  func `private and special addresses are not permitted`(_ address: String) throws { #expect(try !permits(address)) }

  @Test func `the operator's ranges are permitted, and no address beside them`() throws {
    #expect(try permits("10.1.2.3", allowing: ["10.1.0.0/16"]))
    #expect(try !permits("10.2.2.3", allowing: ["10.1.0.0/16"]))
    #expect(
      try permits("127.0.0.1", allowing: ["::1", "127.0.0.1"]) && permits("::1", allowing: ["::1", "127.0.0.1"]))
    #expect(try !permits("127.0.0.2", allowing: ["127.0.0.1"]))
    #expect(try permits("fd00::1", allowing: ["fd00::/9"]) && !permits("fd80::1", allowing: ["fd00::/9"]))
    #expect(try permits("10.1.2.3", allowing: ["0.0.0.0/0"]))
  }

  @Test(arguments: [
    "", "localhost", "10.0.0.0/33", "10.0.0.0/-1", "10.0.0.0/", "10.0.0.0/08", "10.0/8", "::1/129", "fe80::1%lo",
  ])
  func `an invalid range is refused`(_ text: String) { #expect(AddressRange(text) == nil) }
}
