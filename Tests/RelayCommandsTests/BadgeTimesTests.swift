// SPDX-License-Identifier: Apache-2.0
import GRDB
import RelayDelivery
import RelayHub
import RelayJSON
import RelayProtocol
import TestRelay
import Testing

@testable import RelayCommands
@testable import RelayState
@testable import RelayStore

/// Badges that change with time, and not with a request.
@Suite struct BadgeTimesTests {
  @Test func `the end of a mute corrects the badges of the user`() async throws {
    try await TestRelay.run { test async throws in
      let registration: [String: JSON] = [
        "user": .string("bob"), "device": .string("phone"), "platform": .string("simulator"),
        "token": .string("token"),
      ]
      _ = try await test.perform(RegisterDevice.self, as: "bob", registration)
      try await test.execute("DELETE FROM jobs")
      #expect(try await test.core.updates() == 0)
      try await test.core.mute("bob", for: .milliseconds(20))
      while try await test.core.updates() == 0 { try await Task.sleep(for: .milliseconds(1)) }
      #expect(try await test.core.updates() == 1)
    }
  }
}

extension Core {
  /// The number of updates of phones in the queue.
  fileprivate func updates() async throws -> Int {
    try await store.pool.read { try Int.fetchOne($0, sql: "SELECT count(*) FROM jobs WHERE kind = 'phone'") ?? 0 }
  }

  /// Mutes a room of a user in memory, without a change in the store.
  fileprivate func mute(_ name: String, for time: Duration) async throws {
    let user = try await relay.people.retain(UserID(unchecked: name), on: self)
    var recipient = relay.recipients[user]
    recipient.preferences[RoomID(unchecked: "tea")] = RoomPreference(level: .none, until: hub.now + time)
    relay.people.show(recipient, of: user, on: self)
  }
}
