// SPDX-License-Identifier: Apache-2.0
import Foundation
import NIOSSL
import RelayDelivery
import SwiftASN1
import Testing
import X509

@testable import AppleSimulator

@Suite struct AppleSimulatorTests {
  @Test func `the simulator listens on its port until it is stopped`() async throws {
    let first = try await AppleSimulator.start()
    var configuration = AppleSimulator.Configuration()
    configuration.port = first.port
    await #expect(throws: (any Error).self) { try await AppleSimulator.start(configuration) }
    try await first.stop()
    let second = try await AppleSimulator.start(configuration)
    #expect(second.port == first.port)
    try await second.stop()
  }

  @Test func `the certificate is valid for the host of the simulator`() throws {
    let identity = try AppleSimulator.makeIdentity(for: "apple.test")
    let certificate = try Certificate(pemEncoded: identity.certificates)
    let names = try #require(try certificate.extensions.subjectAlternativeNames)
    #expect(names.contains(.dnsName("localhost")))
    #expect(names.contains(.dnsName("apple.test")))
    #expect((certificate.notValidBefore...certificate.notValidAfter).contains(Date()))
    _ = try NIOSSLPrivateKey(bytes: Array(identity.key.utf8), format: .pem)
  }

  @Test func `a change applies when it returns, and a reset removes the script`() async throws {
    let simulator = try await AppleSimulator.start()
    await simulator.change { $0.streams = 7 }
    #expect(simulator.settings.streams == 7)
    simulator.script([.init(.hang)])
    simulator.changePhone("ABCD") { $0.isOn = false }
    #expect(simulator.phone("abcd")?.isOn == false)
    await simulator.reset()
    #expect(simulator.faults.isEmpty)
    #expect(simulator.phone("abcd") == nil)
    #expect(simulator.settings.streams == 7)
    #expect(await simulator.arrivals().isEmpty)
    #expect(await simulator.counts() == .init())
    try await simulator.stop()
  }
}
