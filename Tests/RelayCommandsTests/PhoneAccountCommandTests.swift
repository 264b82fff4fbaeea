// SPDX-License-Identifier: Apache-2.0
import RelayDelivery
import RelayHub
import RelayIdentity
import RelayJSON
import RelayProtocol
import TestRelay
import Testing

@testable import RelayCommands
@testable import RelayRequests
@testable import RelayState
@testable import RelayStore

/// Several accounts of one phone: users of one app whose devices have the same push token.
@Suite struct PhoneAccountCommandTests {
  @Test(arguments: [false, true])
  func `a Focus report of one account counts for all accounts of the phone`(isInMemory: Bool) async throws {
    try await TestRelay.run { test async throws in
      for user in ["work", "home"] { try await register(user, test) }
      try await register("other", token: "other", test)
      if isInMemory { try await test.core.retain("home", "other") }
      #expect(try await report("work", ["isFocused": .bool(true), "number": .number("7")], test))
      for (user, isFocused) in [("work", JSON.bool(true)), ("home", .bool(true)), ("other", .null)] {
        #expect(try await focus(of: user, test) == isFocused, "\(user)")
      }
      // Each account counts its own reports.
      #expect(try await report("home", ["isFocused": .null, "number": .number("1")], test))
      for user in ["work", "home"] { #expect(try await focus(of: user, test) == .null, "\(user)") }
      #expect(try await !report("work", ["isFocused": .bool(true), "number": .number("7")], test))
      #expect(try await focus(of: "home", test) == .null)
      #expect(try await report("work", ["isFocused": .bool(true), "number": .number("8")], test))
      #expect(try await focus(of: "home", test) == .bool(true))
    }
  }

  @Test func `the devices of the accounts may have different names`() async throws {
    try await TestRelay.run { test async throws in
      try await register("work", test)
      try await register("home", device: "pocket", test)
      #expect(try await report("work", ["isFocused": .bool(true)], test))
      #expect(try await focus(of: "home", test) == .bool(true))
    }
  }

  @Test func `an older report of another account changes nothing`() async throws {
    try await TestRelay.run { test async throws in
      for user in ["work", "home"] { try await register(user, test) }
      #expect(try await report("home", ["isFocused": .bool(true), "at": .number("2000000000000")], test))
      _ = try await report("work", ["isFocused": .null, "at": .number("1000")], test)
      #expect(try await focus(of: "home", test) == .bool(true))
    }
  }

  @Test func `concurrent reports of the accounts leave one state of the phone`() async throws {
    try await TestRelay.run { test async throws in
      let users = (0..<Device.maxAccounts).map { "user-\($0)" }
      for user in users { try await register(user, test) }
      try await test.core.retain(users)
      try await withThrowingTaskGroup(of: Void.self) { tasks in
        for (number, user) in users.enumerated() {
          let isFocused: JSON = number.isMultiple(of: 2) ? .bool(true) : .null
          tasks.addTask { _ = try await report(user, ["isFocused": isFocused], test) }
        }
        try await tasks.waitForAll()
      }
      let stored = try await test.core.store.read { reader in
        try users.compactMap { try reader.people.user(UserID(unchecked: $0))?.focus.first?.isFocused }
      }
      #expect(stored.count == 0 || stored.count == users.count)
      for user in users {
        #expect(try await focus(of: user, test) == (stored.isEmpty ? .null : .bool(true)), "\(user)")
      }
    }
  }

  @Test func `a filter of one account counts for all, by the label of each`() async throws {
    try await TestRelay.run { test async throws in
      for user in ["work", "home"] { try await register(user, with: ["criteria": .string(user)], test) }
      let filter: [String: JSON] = [
        "user": .string("home"), "device": .string("phone"), "active": .bool(true), "allow": .array([.string("work")]),
      ]
      #expect(try await test.perform(SetFilter.self, as: "home", filter).body?["applied"] == .bool(true))
      for user in ["work", "home"] {
        let recipient = try await test.core.recipient(user)
        #expect(recipient.filters.filter(of: DeviceID(unchecked: "phone"))?.allow == ["work"], "\(user)")
      }
    }
  }

  @Test func `a later account has the Focus, and gives its permissions to the others`() async throws {
    try await TestRelay.run { test async throws in
      try await register("work", test)
      #expect(try await report("work", ["isFocused": .bool(true)], test))
      try await test.core.retain("work")
      try await register("home", with: ["settings": .object(["alerts": .bool(false)])], test)
      #expect(try await focus(of: "home", test) == .bool(true))
      #expect(try await test.core.recipient("work").devices.map(\.allowsAlerts) == [false])
    }
  }

  @Test func `a registration warns if it ends the device of another user`() async throws {
    try await TestRelay.run { test async throws in
      for number in 0..<Device.maxAccounts { #expect(try await register("user-\(number)", test) == nil) }
      // Another device of the same user is no other account.
      #expect(try await register("user-1", device: "next", test) == nil)
      guard case .array(let warnings) = try await register("late", test) else {
        Issue.record("no warning")
        return
      }
      #expect(warnings.map { $0["code"] } == [.string("account_ended")])
      #expect(warnings.map { $0["at"] } == [.string("/token")])
      #expect(try await test.core.recipient("user-0").devices.isEmpty)
    }
  }

  @Test func `a report key forgets its own device without a right to the account`() async throws {
    try await TestRelay.run { test async throws in
      for user in ["work", "home"] { try await register(user, test) }
      try await register("work", device: "tablet", token: "tablet", test)
      let phone = ReportKeyOwner(user: UserID(unchecked: "work"), device: DeviceID(unchecked: "phone"), grants: [])
      func forget(_ user: String, _ device: String) async throws -> Int {
        try await test.perform(
          ForgetDevice.self, by: .reporter(phone), ["user": .string(user), "device": .string(device)]
        ).status
      }
      for (user, device, key) in [("home", "phone", "user"), ("work", "tablet", "device")] {
        do {
          _ = try await forget(user, device)
          Issue.record("\(user) \(device) is forgotten")
        } catch let error as RequestError {
          #expect(error.code == .forbidden && error.at?.hasSuffix("/\(key)") == true)
        }
      }
      #expect(try await forget("me", "phone") == 204)
      #expect(try await test.core.recipient("work").devices.map(\.id.rawValue) == ["tablet"])
      #expect(try await test.core.recipient("home").devices.map(\.id.rawValue) == ["phone"])
    }
  }

  /// Registers a device, and returns the warnings of the reply.
  @discardableResult
  private func register(
    _ user: String, device: String = "phone", token: String = "token", with fields: [String: JSON] = [:],
    _ test: TestRelay
  ) async throws -> JSON? {
    let registration: [String: JSON] = [
      "user": .string(user), "device": .string(device), "platform": .string("simulator"), "token": .string(token),
    ]
    return try await test.perform(RegisterDevice.self, as: user, registration.merging(fields) { $1 }).body?["warnings"]
  }

  /// Reports the Focus, and returns true if the report was applied.
  private func report(_ user: String, _ fields: [String: JSON], _ test: TestRelay) async throws -> Bool {
    let device: [String: JSON] = ["user": .string(user), "device": .string("phone")]
    return try await test.perform(SetFocus.self, as: user, device.merging(fields) { $1 }).body?["applied"]
      == .bool(true)
  }

  private func focus(of user: String, _ test: TestRelay) async throws -> JSON? {
    try await test.perform(GetPresence.self, by: .backend(acting: nil), ["user": .string(user)]).body?["isFocused"]
  }
}

extension Core {
  /// Keeps users in memory, as their sessions would.
  fileprivate func retain(_ users: String...) async throws { try await retain(users) }

  fileprivate func retain(_ users: [String]) async throws {
    _ = try await relay.people.retain(users.map(UserID.init(unchecked:)), on: self)
  }

  fileprivate func recipient(_ user: String) async throws -> Recipient {
    try await relay.people.withUser(UserID(unchecked: user), on: self) { relay.recipients[$0] }
  }
}
