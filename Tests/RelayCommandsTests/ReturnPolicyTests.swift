// SPDX-License-Identifier: Apache-2.0
import Testing

@testable import RelayRequests

@Suite struct ReturnPolicyTests {
  @Test(
    arguments: [
      // grace, reconnect, users, time
      (10, 20, 0, nil),
      (10, 20, 1, 30_001),
      (10, 20, 5_000, 35_000),
      (10, 20, 60_000, 90_000),
      (10, 20, 1_000_000, 90_000),
      (0, 20, 1, 20_001),
      (10, 0, 1, 10_001),
      (0, 0, 1, 1),
    ] as [(Int, Int, Int, Int?)])
  func `users have the grace and the time of clients to reconnect`(grace: Int, reconnect: Int, users: Int, time: Int?) {
    let policy = ReturnPolicy(grace: .seconds(grace), reconnect: .seconds(reconnect))
    #expect(policy.time(awaiting: users) == time.map { .milliseconds($0) })
  }
}
