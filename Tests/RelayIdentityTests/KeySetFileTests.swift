// SPDX-License-Identifier: Apache-2.0
import Foundation
import Logging
import RelayProtocol
import Synchronization
import Testing

@testable import RelayIdentity

@Suite final class KeySetFileTests {
  private let path = NSTemporaryDirectory() + "stillwire-jwks-\(UInt64.random(in: 0...UInt64.max)).json"

  deinit { try? FileManager.default.removeItem(atPath: path) }

  private func write(_ keys: [[String: String]]) throws {
    try JSONEncoder().encode(["keys": keys]).write(to: URL(fileURLWithPath: path), options: .atomic)
  }

  @Test func `keys of each supported type are used, and others are ignored`() async throws {
    let (es256, rs256, eddsa) = (try await TestKey(.es256), try await TestKey(.rs256), try await TestKey(.eddsa))
    try write([
      es256.jwk(id: "e", ["use": "sig"]), rs256.jwk(id: "r", ["alg": "RS256"]), eddsa.jwk(id: "d"),
      ["kty": "oct", "k": "AAAA"], es256.jwk(id: "x", ["alg": "ES384"]),
    ])
    let file = try await KeySetFile(path: path)
    #expect(file.keys.map(\.id) == ["e", "r", "d"])
    let verifier = verifier(file: file)
    for (key, id) in [(es256, "e"), (rs256, "r"), (eddsa, "d")] {
      _ = try await verifier.verify(key.token(goodClaims, header: #","kid":"\#(id)""#))
    }
  }

  @Test(arguments: [
    "", "[]", "{}", #"{"keys":[]}"#, #"{"keys":[{"kty":"oct","k":"AAAA"}]}"#,
    #"{"keys":[{"kty":"EC","crv":"P-256","x":"AAAA","y":"AAAA","kid":"a"}]}"#,
  ])
  func `a file without a valid key is rejected`(text: String) async throws {
    try Data(text.utf8).write(to: URL(fileURLWithPath: path))
    await #expect(throws: StartupError.self) { try await KeySetFile(path: path) }
  }

  @Test func `a changed file is read again, and an invalid one changes nothing`() async throws {
    let (old, new) = (try await TestKey(.es256), try await TestKey(.es256))
    try write([old.jwk(id: "old")])
    let clock = Mutex(now)
    let verifier = TokenVerifier(
      keys: [], file: try await KeySetFile(path: path), now: { clock.withLock { $0 } }, log: Logger(label: "test"))
    let claims = #"{"sub":"alice","exp":1800000600}"#
    let newToken = try new.token(claims, header: #","kid":"new""#)
    let oldToken = try old.token(claims, header: #","kid":"old""#)
    _ = try await verifier.verify(oldToken)

    try write([old.jwk(id: "old"), new.jwk(id: "new")])
    await #expect(throws: TokenFailure.self) { try await verifier.verify(newToken) }  // read less than 1 s ago
    clock.withLock { $0 = now + .seconds(1) }
    _ = try await verifier.verify(newToken)
    _ = try await verifier.verify(oldToken)

    try Data("nonsense".utf8).write(to: URL(fileURLWithPath: path), options: .atomic)
    clock.withLock { $0 = now + .seconds(40) }
    _ = try await verifier.verify(newToken)

    try write([new.jwk(id: "new")])
    clock.withLock { $0 = now + .seconds(50) }
    _ = try await verifier.verify(oldToken)  // a known key causes no read within 30 s
    clock.withLock { $0 = now + .seconds(59) }
    _ = try await verifier.verify(newToken)
    clock.withLock { $0 = now + .milliseconds(70_000) }
    await #expect(throws: TokenFailure.self) { try await verifier.verify(oldToken) }
  }

  @Test func `a file is read again if a link leads to another file`() async throws {
    let (old, new) = (try await TestKey(.es256), try await TestKey(.es256))
    let (files, link) = (FileManager.default, path + "-link")
    defer { for file in [link, path + "-old", path + "-new"] { try? files.removeItem(atPath: file) } }
    try write([old.jwk(id: "old")])
    try files.moveItem(atPath: path, toPath: path + "-old")
    try write([new.jwk(id: "new")])
    try files.moveItem(atPath: path, toPath: path + "-new")
    // Kubernetes replaces a link behind the configured one, which never changes.
    try files.createSymbolicLink(atPath: path, withDestinationPath: path + "-old")
    try files.createSymbolicLink(atPath: link, withDestinationPath: path)
    var file = try await KeySetFile(path: link)
    #expect(try await file.refresh() == false)
    try files.removeItem(atPath: path)
    try files.createSymbolicLink(atPath: path, withDestinationPath: path + "-new")
    #expect(try await file.refresh())
    #expect(file.keys.map(\.id) == ["new"])
  }

  @Test(arguments: [#","kid":"same""#, ""])
  func `a key that replaces another one is found within a second`(header: String) async throws {
    let (old, new) = (try await TestKey(.es256), try await TestKey(.es256))
    let id = header.isEmpty ? nil : "same"
    try write([old.jwk(id: id)])
    let clock = Mutex(now)
    let verifier = TokenVerifier(
      keys: [], file: try await KeySetFile(path: path), now: { clock.withLock { $0 } }, log: Logger(label: "test"))
    let token = try new.token(goodClaims, header: header)
    try write([new.jwk(id: id)])
    clock.withLock { $0 = now + .milliseconds(999) }
    await #expect(throws: TokenFailure.self) { try await verifier.verify(token) }
    clock.withLock { $0 = now + .seconds(1) }
    _ = try await verifier.verify(token)
  }
}
