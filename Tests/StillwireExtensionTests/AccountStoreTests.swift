// SPDX-License-Identifier: Apache-2.0
// Tests the accounts of a phone with a file, secrets in memory, and a relay on loopback.
import Foundation
import RelayProtocol
import Testing

@testable import StillwireExtension

@Suite(.timeLimit(.minutes(15))) struct AccountStoreTests {
  /// A phone: the file and the secrets stay when the app ends, and the relay can be out of reach.
  final class Phone: Sendable {
    let folder = FileManager.default.temporaryDirectory.appending(path: "accounts-\(UUID().uuidString)")
    let secrets = MemorySecrets()
    let time = Locked(Date(timeIntervalSince1970: 1_700_000_000))

    init() throws { try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true) }
    deinit { try? FileManager.default.removeItem(at: folder) }

    var file: URL { folder.appending(path: "stillwire-accounts") }

    /// The store of a new process.
    /// - Parameter server: The relay, or `nil` if the phone has no connection.
    func store(_ server: TestServer? = nil) -> AccountStore {
      let relay = RelayAddress("http://127.0.0.1:\(server?.port ?? 1)")!
      return AccountStore(file: file, secrets: secrets, relay: [relay], patience: .seconds(60)) { self.time.current }
    }

    func register(_ user: UserID, at server: TestServer?) async throws -> DeviceRegistration? {
      try await store(server).register(user, as: { .token("a.b.jwt-\(user)") }) { registration(user, $0) }
    }
  }

  private static func server(_ status: String = "200 OK", _ body: String = #"{"reportKey":"swr_1"}"#) throws
    -> TestServer
  {
    try TestServer(
      "HTTP/1.1 \(status)\r\nContent-Length: \(body.utf8.count)\r\nConnection: close\r\n\r\n", body: Data(body.utf8))
  }

  private static func lines(_ server: TestServer) -> [String] {
    server.received.map { String($0.prefix { !$0.isNewline }) }
  }

  @Test func `a user signs out offline, another one signs in, and the phone shows no text of the first`() async throws {
    let (phone, relay) = (try Phone(), try Self.server())
    #expect(try await phone.register("ann", at: relay)?.reportKey == "swr_1")
    let device = try phone.store().device(of: "ann")
    #expect(phone.store().display(of: .relay("ann")) == .full)

    // Without a connection and without a token.
    try phone.store().signOut("ann")
    #expect(await phone.store().repeatSignOuts() == false)
    #expect(phone.store().display(of: .relay("ann")) == .hidden)
    #expect(throws: StillwireError.self) { try phone.store().identity(of: "ann") }
    #expect(phone.store().account() == nil)

    // The next user cannot register yet, but a push to the first user is hidden.
    await #expect(throws: StillwireError.self) { try await phone.register("bob", at: nil) }
    #expect(phone.store().display(of: .relay("ann")) == .hidden)
    #expect(phone.store().display(of: .relay("bob")) == .full)
    #expect(Self.lines(relay).count == 1)

    // The next contact ends the old device with its key, and then registers the new one.
    #expect(try await phone.register("bob", at: relay) != nil)
    let other = try phone.store().device(of: "bob")
    #expect(
      Self.lines(relay).dropFirst() == [
        "DELETE /v1/users/ann/devices/\(device) HTTP/1.1", "PUT /v1/users/me/devices/\(other) HTTP/1.1",
      ])
    #expect(relay.received[1].contains("Authorization: Bearer swr_1\r\n"))
    #expect(relay.received[2].contains("Authorization: Bearer a.b.jwt-bob\r\n"))
    #expect(try phone.store().accounts?.signOuts == [])
    #expect(phone.secrets.values == [.device(of: "bob"): other.rawValue, .reportKey(of: other): "swr_1"])
    // A push that Apple has delayed.
    #expect(phone.store().display(of: .relay("ann")) == .hidden)
  }

  /// Answers of the relay to a sign-out, and true if the sign-out is over.
  @Test(arguments: [
    ("204 No Content", "", true), ("200 OK", "{}", true), ("401 X", #"{"code":"unauthorized"}"#, true),
    ("404 X", #"{"code":"not_found"}"#, true), ("403 X", #"{"code":"forbidden"}"#, false), ("401 X", "", false),
    ("429 X", #"{"code":"rate_limited"}"#, false), ("503 X", "", false),
  ])
  func `a sign-out is open until the relay ends it`(_ status: String, _ body: String, _ isOver: Bool) async throws {
    let phone = try Phone()
    _ = try await phone.register("ann", at: Self.server())
    let device = try phone.store().device(of: "ann")
    try phone.store().signOut("ann")
    let relay = try Self.server(status, body)
    // A push, a start and a further push of an extension.
    for _ in 0..<3 { #expect(await phone.store(relay).repeatSignOuts() == isOver) }
    #expect(
      Self.lines(relay) == Array(repeating: "DELETE /v1/users/ann/devices/\(device) HTTP/1.1", count: isOver ? 1 : 3))
    #expect((phone.secrets.values[.reportKey(of: device)] == nil) == isOver)
  }

  @Test func `a sign-out of one user leaves the others`() async throws {
    let (phone, relay) = (try Phone(), try Self.server())
    _ = try await phone.register("ann", at: relay)
    _ = try await phone.register("bob", at: relay)
    #expect(phone.store().account()?.user == "bob")
    #expect(try phone.store().identity(of: "ann") == .reportKey("swr_1"))
    try phone.store().signOut("bob")
    #expect(await phone.store(relay).repeatSignOuts())
    #expect(phone.store().display(of: .relay("ann")) == .full)
    #expect(phone.store().display(of: .relay("bob")) == .hidden)
    #expect(phone.store().account()?.user == "ann")
    #expect(Self.lines(relay).last?.hasPrefix("DELETE /v1/users/bob/") == true)
  }

  @Test func `a user who signs in again gets a new device, and the late sign-out ends only the old one`() async throws {
    let (phone, relay) = (try Phone(), try Self.server())
    _ = try await phone.register("ann", at: relay)
    let old = try phone.store().device(of: "ann")
    try phone.store().signOut("ann")
    // The app has ended before it could remove the old id.
    try phone.secrets.set(old.rawValue, of: .device(of: "ann"))
    let new = try phone.store().device(of: "ann")
    #expect(new != old)
    #expect(try phone.store().device(of: "ann") == new)
    _ = try await phone.register("ann", at: relay)
    #expect(
      Self.lines(relay).dropFirst() == [
        "DELETE /v1/users/ann/devices/\(old) HTTP/1.1", "PUT /v1/users/me/devices/\(new) HTTP/1.1",
      ])
    #expect(phone.store().display(of: .relay("ann")) == .full)
  }

  @Test func `a sign-out during a registration ends the device after the reply`() async throws {
    let (phone, relay) = (try Phone(), try Self.server())
    let store = phone.store(relay)
    let registered = try await store.register(
      "ann",
      as: {
        // The request has its device, and the person signs out.
        try store.signOut("ann")
        return .token("a.b.jwt")
      }
    ) { registration("ann", $0) }
    #expect(registered != nil)
    #expect(Self.lines(relay).map { $0.prefix(6) } == ["PUT /v", "DELETE"])
    #expect(try phone.store().accounts == PhoneAccounts())
    #expect(phone.store().display(of: .relay("ann")) == .hidden)
    #expect(phone.secrets.values == [:])
  }

  /// Registers a user, and loses the reply.
  private static func loseReply(to user: UserID, of phone: Phone) async throws {
    let relay = try server("200 OK", "{")
    await #expect(throws: StillwireError.self) { try await phone.register(user, at: relay) }
    #expect(lines(relay).map { $0.prefix(4) } == ["PUT "])
  }

  @Test func `after a lost reply to the registration a sign-out waits for a token of the user`() async throws {
    let (phone, relay) = (try Phone(), try Self.server())
    try await Self.loseReply(to: "ann", of: phone)
    let old = try phone.store().device(of: "ann")
    try phone.store().signOut("ann")
    // Neither a push nor another user can end the device.
    #expect(await phone.store(relay).repeatSignOuts() == false)
    _ = try await phone.register("bob", at: relay)
    #expect(Self.lines(relay).map { $0.prefix(4) } == ["PUT "])
    #expect(try phone.store().accounts?.signOuts.map(\.device) == [old])
    // The next registration of the user does.
    _ = try await phone.register("ann", at: relay)
    let new = try phone.store().device(of: "ann")
    #expect(
      Self.lines(relay).dropFirst() == [
        "DELETE /v1/users/me/devices/\(old) HTTP/1.1", "PUT /v1/users/me/devices/\(new) HTTP/1.1",
      ])
    #expect(relay.received[1].contains("Authorization: Bearer a.b.jwt-ann\r\n"))
    #expect(try phone.store().accounts?.signOuts == [])
  }

  /// Answers of the relay to a sign-out with a token, and true if the sign-out is over.
  @Test(arguments: [
    ("204 No Content", "", true), ("404 X", #"{"code":"not_found"}"#, true),
    ("401 X", #"{"code":"unauthorized"}"#, false), ("503 X", "", false),
  ])
  func `a token of the user ends a sign-out without a report key`(
    _ status: String, _ body: String, _ isOver: Bool
  ) async throws {
    let phone = try Phone()
    try await Self.loseReply(to: "ann", of: phone)
    try phone.store().signOut("ann")
    let relay = try Self.server(status, body)
    #expect(await phone.store(relay).repeatSignOuts(of: "bob", as: { .token("a.b.jwt-bob") }) == false)
    #expect(await phone.store(relay).repeatSignOuts(of: "ann", as: { .token("a.b.jwt-ann") }) == isOver)
    #expect(relay.received.count == 1)
  }

  @Test func `a sign-out without any registration is over without a request`() async throws {
    let (phone, relay) = (try Phone(), try Self.server())
    let store = phone.store(relay)
    await #expect(throws: CancellationError.self) {
      try await store.register("ann", as: { .token("a.b.jwt") }) { _ in throw CancellationError() }
    }
    try store.signOut("ann")
    #expect(await store.repeatSignOuts())
    #expect(relay.received.isEmpty && phone.secrets.values == [:])
  }

  @Test func `the requests of the phone have the key of a registered user while another one registers`() async throws {
    let phone = try Phone()
    _ = try await phone.register("ann", at: Self.server())
    try await Self.loseReply(to: "bob", of: phone)
    #expect(phone.store().account()?.user == "ann")
    #expect(try phone.store().identity() == .reportKey("swr_1"))
  }

  @Test func `a sign-out prevents the donation of a push, or deletes it`() async throws {
    let phone = try Phone()
    _ = try await phone.register("ann", at: Self.server())
    let steps = Locked<[String]>([])
    func donate(_ meanwhile: @escaping @Sendable () throws -> Void = {}) async {
      await phone.store().donate(for: .relay("ann")) {
        steps.withLock { $0.append("donated") }
        #expect(throws: Never.self, performing: meanwhile)
      } orDelete: {
        steps.withLock { $0.append("deleted") }
      }
    }
    await donate()
    #expect(steps.current == ["donated"])
    await donate { try phone.store().signOut("ann") }
    #expect(steps.current == ["donated", "donated", "deleted"])
    await donate()
    #expect(steps.current == ["donated", "donated", "deleted"])
  }

  @Test func `a registration is sent once, and again for another user`() async throws {
    let (phone, relay) = (try Phone(), try Self.server())
    for _ in 0..<2 { _ = try await phone.register("ann", at: relay) }
    #expect(relay.received.count == 1)
    _ = try await phone.register("bob", at: relay)
    #expect(relay.received.count == 2)
    #expect(try await phone.register("ann", at: relay) == nil)
    phone.time.withLock { $0 += PushRegistration.maxAge.seconds }
    #expect(try await phone.register("ann", at: relay) != nil)
  }

  @Test func `a phone with the maximum of accounts refuses a further one`() async throws {
    let (phone, relay) = (try Phone(), try Self.server())
    for number in 1...PhoneAccounts.maxAccounts {
      _ = try await phone.register(UserID(rawValue: "u\(number)")!, at: relay)
    }
    let error = await #expect(throws: StillwireError.self) { try await phone.register("last", at: relay) }
    #expect(error?.message == "a phone has at most 8 accounts")
    #expect(relay.received.count == PhoneAccounts.maxAccounts)
  }

  @Test func `before the first unlock a sign-out works, and waits for its key`() async throws {
    let (phone, relay) = (try Phone(), try Self.server())
    _ = try await phone.register("ann", at: relay)
    phone.secrets.setLocked(true)
    try phone.store().signOut("ann")
    #expect(phone.store().display(of: .relay("ann")) == .hidden)
    #expect(await phone.store(relay).repeatSignOuts() == false)
    #expect(throws: MemorySecrets.IsLocked.self) { try phone.store().device(of: "bob") }
    #expect(relay.received.count == 1)
    phone.secrets.setLocked(false)
    #expect(await phone.store(relay).repeatSignOuts())
    #expect(relay.received.count == 2)
    // The sign-out could not remove the id of the device.
    #expect(phone.secrets.values == [:])
  }

  @Test func `a backup that was restored on another phone gives it another device`() async throws {
    let (phone, relay) = (try Phone(), try Self.server())
    _ = try await phone.register("ann", at: relay)
    let new = try Phone()
    // The secrets stay on the old phone.
    try FileManager.default.copyItem(at: phone.file, to: new.file)
    #expect(try new.store().device(of: "ann") != phone.store().device(of: "ann"))
    #expect(throws: StillwireError.self) { try new.store().identity() }
    #expect(try await new.register("ann", at: relay) != nil)
    #expect(try new.store().accounts?.accounts.map(\.device) == [new.store().device(of: "ann")])
  }

  @Test func `a phone without accounts shows all, and one with a damaged file hides what the relay sent`() async throws
  {
    let phone = try Phone()
    #expect(try phone.store().accounts == nil)
    for origin in [PushOrigin.relay("ann"), .relay(nil), .other] { #expect(phone.store().display(of: origin) == .full) }
    try Data("{".utf8).write(to: phone.file)
    #expect(phone.store().display(of: .relay("ann")) == .hidden)
    #expect(phone.store().display(of: .other) == .full)
    // The next registration repairs it.
    _ = try await phone.register("ann", at: Self.server())
    #expect(phone.store().display(of: .relay("ann")) == .full)
  }

  @Test func `changes at the same time lose no account`() async throws {
    let phone = try Phone()
    await withThrowingTaskGroup(of: Void.self) { tasks in
      for number in 1...PhoneAccounts.maxAccounts {
        tasks.addTask {
          _ = try AccountFile(file: phone.file).apply(.signedIn(UserID(rawValue: "u\(number)")!, "d"))
        }
      }
    }
    #expect(try phone.store().accounts?.accounts.count == PhoneAccounts.maxAccounts)
  }

  @Test func `the file has no report key`() async throws {
    let phone = try Phone()
    _ = try await phone.register("ann", at: Self.server())
    let text = try String(contentsOf: phone.file, encoding: .utf8)
    #expect(text.contains("ann") && !text.contains("swr_1") && !text.contains("token"))
  }
}

private func registration(_ user: UserID, _ device: DeviceID) -> PushRegistration {
  PushRegistration(
    user: user, device: device, app: "org.example.chat", token: Data([10]), locale: "en", timeZone: "UTC")
}
