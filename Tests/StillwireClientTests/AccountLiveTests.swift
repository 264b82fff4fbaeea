// SPDX-License-Identifier: Apache-2.0
// Tests the accounts of a phone with a relay: users share the token of the phone, and sign out without a token.
import Crypto
import Foundation
import RelayJSON
import RelayProtocol
import RelayPush
import Testing

@testable import RelayServer
@testable import StillwireClient
@testable import StillwireExtension

@Suite(.timeLimit(.minutes(15))) struct AccountLiveTests {
  /// A Keychain in memory.
  private final class Secrets: AccountSecrets {
    private let values = Locked<[AccountSecret: String]>([:])
    func value(of secret: AccountSecret) -> String? { values.current[secret] }
    func set(_ value: String, of secret: AccountSecret) { values.withLock { $0[secret] = value } }
    func remove(_ secret: AccountSecret) { values.withLock { $0[secret] = nil } }
  }

  @Test func `a user signs out offline, and the relay ends only this device at the next contact`() async throws {
    let folder = FileManager.default.temporaryDirectory.appending(path: "accounts-\(UUID().uuidString)")
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(at: folder) }
    let key = folder.appending(path: "key.p8")
    try P256.Signing.PrivateKey().pemRepresentation.write(to: key, atomically: true, encoding: .utf8)
    try FileManager.default.setAttributes([.posixPermissions: 0o600], ofItemAtPath: key.path)
    let file = JSON.string(key.path)
    let (accounts, secrets) = (folder.appending(path: "accounts"), Secrets())
    let offline = AccountStore(file: accounts, secrets: secrets, relay: [RelayAddress("http://127.0.0.1:1")!])
    try await LiveRelay().serve(change: {
      let credential: JSON = ["keyFile": file, "keyID": "ABCDE12345", "team": "ABCDE12345"]
      $0.apps = try Apps([Fields(["app": "org.example.chat", "credential": credential])])
    }) { address in
      let online = AccountStore(file: accounts, secrets: secrets, relay: [address], patience: patience)
      for user in ["ann", "bob"] as [UserID] { #expect(try await register(user, in: online) != nil) }
      let (ann, bob) = (try online.device(of: "ann"), try online.device(of: "bob"))
      #expect(try await devices(of: "ann", at: address) == [ann.rawValue])
      #expect(try await devices(of: "bob", at: address) == [bob.rawValue])

      try offline.signOut("ann")
      #expect(await offline.repeatSignOuts() == false)
      #expect(offline.display(of: .relay("ann")) == .hidden && offline.display(of: .relay("bob")) == .full)
      #expect(try await devices(of: "ann", at: address) == [ann.rawValue])

      // The next user registers the same token.
      #expect(try await register("eve", in: online) != nil)
      #expect(try await devices(of: "ann", at: address) == [])
      #expect(try await devices(of: "bob", at: address) == [bob.rawValue])
      #expect(try online.accounts?.signOuts == [])
      #expect(online.display(of: .relay("ann")) == .hidden && online.display(of: .relay("eve")) == .full)

      // A sign-out whose reply was lost is over: the relay does not know the key any more.
      try await online.api(of: "bob").forget(bob, of: "bob")
      try online.signOut("bob")
      #expect(await online.repeatSignOuts())
      #expect(try await register("ann", in: online) != nil)
      #expect(try await devices(of: "ann", at: address) == [online.device(of: "ann").rawValue])
    }
  }

  private func register(_ user: UserID, in store: AccountStore) async throws -> DeviceRegistration? {
    try await store.register(user, as: { .open(user) }) { device in
      PushRegistration(user: user, device: device, app: "org.example.chat", token: Data([1, 2, 255]))
    }
  }

  /// The names of a user's devices at the relay.
  private func devices(of user: UserID, at address: RelayAddress) async throws -> [String] {
    let reply = try await RelayAPI(address, patience: patience) { .open(user) }.send("GET", "/v1/users/me/devices", nil)
    return (reply["devices"]?.items ?? []).compactMap { $0["device"]?.text }
  }
}
