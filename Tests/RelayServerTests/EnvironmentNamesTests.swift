// SPDX-License-Identifier: Apache-2.0
import Testing

@testable import RelayServer

/// The names of environment variables, and the warnings about unknown ones.
struct EnvironmentNamesTests {
  @Test(arguments: [
    ("port", "STILLWIRE_PORT"), ("limits.sendRate", "STILLWIRE_LIMITS_SEND_RATE"),
    ("webPush.caFile", "STILLWIRE_WEB_PUSH_CA_FILE"), ("tokens.jwksFile", "STILLWIRE_TOKENS_JWKS_FILE"),
    ("secretFile", "STILLWIRE_SECRET_FILE"),
  ])
  func `the name of a variable follows from its key`(_ key: String, _ variable: String) {
    #expect(EnvironmentNames.name(of: key) == variable)
    #expect(EnvironmentNames.known.contains(variable))
  }

  @Test func `the warning about an unknown variable suggests a similar name`() {
    let found = EnvironmentNames.complaints(about: [
      "STILLWIRE_PORT", "STILLWIRE_LIMIT_SEND_RATE", "STILLWIRE_QWERTYUIOP", "STILLWIREPORT", "PATH",
    ])
    #expect(
      found == [
        "the environment variable STILLWIRE_LIMIT_SEND_RATE has no effect; did you mean STILLWIRE_LIMITS_SEND_RATE?",
        "the environment variable STILLWIRE_QWERTYUIOP has no effect",
      ])
  }

  @Test func `the warning about a list of objects says that only a file can set it`() {
    #expect(
      EnvironmentNames.complaints(about: ["STILLWIRE_ROOMS", "STILLWIRE_APPS", "STILLWIRE_LOOMS"]) == [
        "the environment variable STILLWIRE_APPS has no effect: apps is a key of the configuration file only",
        "the environment variable STILLWIRE_LOOMS has no effect",
        "the environment variable STILLWIRE_ROOMS has no effect: rooms is a key of the configuration file only",
      ])
  }

  @Test func `the number and the length of the warnings are limited`() {
    let many = (0..<100).map { "STILLWIRE_\($0)" + String(repeating: "X", count: 10_000) }
    let found = EnvironmentNames.complaints(about: many)
    #expect(found.count == EnvironmentNames.maxComplaints)
    #expect(found.allSatisfy { $0.count < 300 })
  }
}
