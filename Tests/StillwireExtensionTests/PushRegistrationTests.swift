// SPDX-License-Identifier: Apache-2.0
// Tests the registration of a device: its fields, the decision to send it, and the request.
import Foundation
import RelayJSON
import RelayProtocol
import Testing

@testable import StillwireExtension

@Suite(.timeLimit(.minutes(15))) struct PushRegistrationTests {
  private static let now = Date(timeIntervalSince1970: 1_700_000_000)
  private let registration = PushRegistration(
    user: "ann", device: "phone", app: "org.example.chat", token: Data([0x00, 0x0f, 0xa5, 0xff]), locale: "de_DE",
    timeZone: "Europe/Berlin")

  @Test func `the fields are those of the protocol, with the tokens in hexadecimal digits`() {
    #expect(
      registration.fields == [
        "device": "phone", "app": "org.example.chat", "platform": "apns", "token": "000fa5ff", "locale": "de_DE",
        "timeZone": "Europe/Berlin", "settings": ["alerts": true, "timeSensitive": true],
      ])
    var full = registration
    full.voipToken = Data([0x10])
    full.environment = .sandbox
    full.criteria = "work"
    full.permissions = NotificationPermissions(allowsAlerts: false, allowsTimeSensitive: false)
    #expect(full.fields["voipToken"] == "10")
    #expect(full.fields["environment"] == "sandbox")
    #expect(full.fields["criteria"] == "work")
    #expect(full.fields["settings"] == ["alerts": false, "timeSensitive": false])
  }

  /// Changes of a registration, each of which the app must send.
  static let changes: [@Sendable (inout PushRegistration) -> Void] = [
    { $0.device = "pad" }, { $0.app = "org.example.other" }, { $0.token = Data([1]) }, { $0.voipToken = Data([1]) },
    { $0.environment = .production }, { $0.criteria = "home" }, { $0.permissions.allowsAlerts = false },
    { $0.permissions.allowsTimeSensitive = false }, { $0.user = "bob" }, { $0.locale = "en_GB" }, { $0.timeZone = nil },
  ]

  @Test(arguments: changes.indices) func `a changed registration is due`(_ index: Int) {
    var changed = registration
    Self.changes[index](&changed)
    #expect(changed.isDue(after: registration.record(at: Self.now), hasReportKey: true, now: Self.now))
  }

  /// Ages of the last registration in seconds.
  @Test(arguments: [
    (age: 0.0, hasKey: true, isDue: false), (604_799, true, false), (604_800, true, true), (-1, true, true),
    (0, false, true),
  ])
  func `an old registration is due, and one without a report key`(_ age: Double, _ hasKey: Bool, _ isDue: Bool) {
    let last = registration.record(at: Self.now)
    #expect(
      registration.isDue(after: last, hasReportKey: hasKey, now: Self.now.addingTimeInterval(age)) == isDue)
  }

  @Test func `the first registration is due, and its record keeps no token`() throws {
    #expect(registration.isDue(after: nil, hasReportKey: true, now: Self.now))
    let record = registration.record(at: Self.now)
    let text = try JSONEncoder().encode(record)
    #expect(!String(decoding: text, as: UTF8.self).contains("000fa5ff"))
    #expect(try JSONDecoder().decode(PushRegistration.Record.self, from: text) == record)
  }

  @Test func `the request has the user's token, and its reply has the report key`() async throws {
    let warnings = #"[{"code":"no_voip_entitlement","message":"none","at":"/voipToken"},{}]"#
    let body = #"{"device":"a|b","reportKey":"swr_new","warnings":\#(warnings)}"#
    let server = try TestServer(
      "HTTP/1.1 200 OK\r\nContent-Length: \(body.utf8.count)\r\nConnection: close\r\n\r\n", body: Data(body.utf8))
    let api = RelayAPI(try #require(RelayAddress("http://127.0.0.1:\(server.port)")), patience: .seconds(60)) {
      .token("a.b.jwt")
    }
    var registration = registration
    registration.device = "a|b"
    let registered = try await api.register(registration)
    #expect(registered.reportKey == "swr_new")
    #expect(registered.warnings.map(\.description) == ["no_voip_entitlement: none"])
    let request = try #require(server.received.first)
    #expect(request.hasPrefix("PUT /v1/users/me/devices/a%7Cb HTTP/1.1\r\n"))
    #expect(request.contains("Authorization: Bearer a.b.jwt\r\n"))
    let sent = try #require(request.components(separatedBy: "\r\n\r\n").last)
    #expect(JSON(reading: sent.utf8) == .object(registration.fields))
  }

  @Test func `a reply without a report key is an error`() async throws {
    let server = try TestServer(
      "HTTP/1.1 200 OK\r\nContent-Length: 2\r\nConnection: close\r\n\r\n", body: Data("{}".utf8))
    let api = RelayAPI(try #require(RelayAddress("http://127.0.0.1:\(server.port)")), patience: .seconds(60)) {
      .token("a.b.jwt")
    }
    let error = await #expect(throws: StillwireError.self) { try await api.register(registration) }
    #expect(error?.code == .malformed)
  }

  @Test(arguments: [204, 404]) func `a device is forgotten once, and repeating it is no error`(_ status: Int)
    async throws
  {
    let body = status == 404 ? #"{"code":"not_found"}"# : ""
    let server = try TestServer(
      "HTTP/1.1 \(status) X\r\nContent-Length: \(body.utf8.count)\r\nConnection: close\r\n\r\n", body: Data(body.utf8))
    let api = RelayAPI(try #require(RelayAddress("http://127.0.0.1:\(server.port)")), patience: .seconds(60)) {
      .token("a.b.jwt")
    }
    try await api.forget("a|b")
    #expect(server.received.first?.hasPrefix("DELETE /v1/users/me/devices/a%7Cb HTTP/1.1\r\n") == true)
  }

  @Test func `registrations that begin at the same time run one after the other`() async throws {
    let tasks = SerialTasks()
    let running = Locked(0)
    try await withThrowingTaskGroup(of: Void.self) { group in
      for _ in 0..<20 {
        group.addTask {
          try await tasks.perform {
            let count = running.withLock {
              $0 += 1
              return $0
            }
            #expect(count == 1)
            for _ in 0..<5 { await Task.yield() }
            running.withLock { $0 -= 1 }
          }
        }
      }
      try await group.waitForAll()
    }
    // A failure does not prevent later work.
    await #expect(throws: StillwireError.self) { try await tasks.perform { throw StillwireError.closed } }
    #expect(try await tasks.perform { 7 } == 7)
  }
}
