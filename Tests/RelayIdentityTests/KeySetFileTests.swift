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

  /// The members of a key besides its parameters, and the purpose that they give it.
  private static let purposes: [(members: String, purpose: KeySetMember.Purpose)] = [
    (#""kty":"EC","crv":"P-256""#, .verifies(.es256)),
    (#""kty":"EC","crv":"P-256","alg":"ES256","use":"sig","key_ops":["verify"]"#, .verifies(.es256)),
    (#""kty":"RSA""#, .verifies(.rs256)),
    (#""kty":"RSA","alg":"RS256","key_ops":["sign","verify"]"#, .verifies(.rs256)),
    (#""kty":"OKP","crv":"Ed25519""#, .verifies(.eddsa)),
    (#""kty":"OKP","crv":"Ed25519","alg":"EdDSA""#, .verifies(.eddsa)),
    (#""kty":"OKP","crv":"Ed25519","alg":"Ed25519""#, .verifies(.eddsa)),
    (#""kty":"EC","crv":"P-256","alg":"ES384""#, .other("alg ES384")),
    (#""kty":"EC","crv":"P-256","alg":"ECDH-ES""#, .other("alg ECDH-ES")),
    (#""kty":"RSA","alg":"RS512""#, .other("alg RS512")),
    (#""kty":"RSA","alg":"RSA-OAEP-256""#, .other("alg RSA-OAEP-256")),
    (#""kty":"OKP","crv":"Ed25519","alg":"ES256""#, .other("alg ES256")),
    (#""kty":"EC","crv":"P-384""#, .other("crv P-384")),
    (#""kty":"EC""#, .other("crv none")),
    (#""kty":"OKP","crv":"X25519""#, .other("crv X25519")),
    (#""kty":"OKP","crv":"Ed448","alg":"Ed448""#, .other("crv Ed448")),
    (#""kty":"oct","alg":"HS256""#, .other("kty oct")),
    (#""kty":"AKP","alg":"ML-DSA-44""#, .other("kty AKP")),
    (#""alg":"ES256""#, .other("kty none")),
    (#""kty":"RSA","use":"enc""#, .other("use enc")),
    (#""kty":"RSA","use":"enc","key_ops":["verify"]"#, .other("use enc")),
    (#""kty":"RSA","use":"sig","key_ops":["encrypt"]"#, .other("key_ops without verify")),
    (#""kty":"RSA","key_ops":["sign"]"#, .other("key_ops without verify")),
    (#""kty":"RSA","key_ops":[]"#, .other("key_ops without verify")),
  ]

  @Test(arguments: purposes)
  func `the members of a key decide its purpose`(members: String, purpose: KeySetMember.Purpose) throws {
    let member = try JSONDecoder().decode(KeySetMember.self, from: Data("{\(members)}".utf8))
    #expect(member.purpose == purpose)
  }

  @Test func `a key for encryption verifies no tokens`() async throws {
    let (signing, encrypting) = (try await TestKey(.es256), try await TestKey(.es256))
    try write([signing.jwk(id: "a", ["use": "sig"]), encrypting.jwk(id: "b", ["use": "enc"])])
    let verifier = verifier(file: try await KeySetFile(path: path))
    _ = try await verifier.verify(signing.token(goodClaims, header: #","kid":"a""#))
    for header in [#","kid":"b""#, ""] {
      await #expect(throws: TokenFailure.invalid("the token is not valid")) {
        try await verifier.verify(encrypting.token(goodClaims, header: header))
      }
    }
  }

  @Test func `skipped keys are in one line of the log, at the start and after a change`() async throws {
    let (key, lines) = (try await TestKey(.eddsa), RecordedLog())
    let log = Logger(label: "test") { _ in lines }
    var settings = IdentitySettings()
    settings.keySetFile = path
    try write([
      key.jwk(id: "good", ["alg": "Ed25519"]), ["kty": "AKP", "alg": "ML-DSA-44", "kid": "new\nline"],
      ["kty": "oct", "k": "AAAA"], key.jwk(id: "e", ["use": "enc"]),
    ])
    let clocks = TestClocks()
    let verifier = try await settings.verifier(now: { clocks.time }, instant: { clocks.instant }, log: log)
    let line = "the key set has keys that verify no tokens"
    #expect(lines.lines(of: line) == [["3", "new?line (kty AKP), /keys/2 (kty oct), e (use enc)"]])

    let token = try key.token(goodClaims)
    clocks.pass(.seconds(31))
    _ = try await verifier.verify(token)
    #expect(lines.lines(of: line).count == 1)
    let others = (0..<99).map { ["kty": "oct", "kid": String(repeating: "k", count: 100) + "\($0)"] }
    try write([key.jwk(id: "good")] + others)
    clocks.pass(.seconds(31))
    await #expect(throws: TokenFailure.self) { try await verifier.verify(token + "A") }
    let last = try #require(lines.lines(of: line).last)
    #expect(lines.lines(of: line).count == 2)
    #expect(last[0] == "99")
    #expect(last[1].count < 300)
  }

  @Test func `a set without a key for tokens names the reasons`() async throws {
    let key = try await TestKey(.es256)
    try write([key.jwk(id: "a", ["use": "enc"]), ["kty": "oct", "k": "AAAA"]])
    let error = await #expect(throws: StartupError.self) { try await KeySetFile(path: path) }
    #expect(error?.description.hasSuffix("RS256 or EdDSA tokens: a (use enc), /keys/1 (kty oct)") == true)
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
    let clocks = TestClocks()
    let verifier = try await watcher(clocks)
    let claims = #"{"sub":"alice","exp":1800000600}"#
    let newToken = try new.token(claims, header: #","kid":"new""#)
    let oldToken = try old.token(claims, header: #","kid":"old""#)
    _ = try await verifier.verify(oldToken)

    try write([old.jwk(id: "old"), new.jwk(id: "new")])
    await #expect(throws: TokenFailure.self) { try await verifier.verify(newToken) }  // read less than 1 s ago
    clocks.pass(.seconds(1))
    _ = try await verifier.verify(newToken)
    _ = try await verifier.verify(oldToken)

    try Data("nonsense".utf8).write(to: URL(fileURLWithPath: path), options: .atomic)
    clocks.pass(.seconds(39))
    _ = try await verifier.verify(newToken)

    try write([new.jwk(id: "new")])
    clocks.pass(.seconds(10))
    _ = try await verifier.verify(oldToken)  // a known key causes no read within 30 s
    clocks.pass(.seconds(9))
    _ = try await verifier.verify(newToken)
    clocks.pass(.seconds(11))
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
    let clocks = TestClocks()
    let verifier = try await watcher(clocks)
    let token = try new.token(goodClaims, header: header)
    try write([new.jwk(id: id)])
    clocks.pass(.milliseconds(999))
    await #expect(throws: TokenFailure.self) { try await verifier.verify(token) }
    clocks.pass(.milliseconds(1))
    _ = try await verifier.verify(token)
  }

  @Test(arguments: [-600, 600])
  func `a step of the wall clock causes no early read of the file`(step: Int) async throws {
    let (old, new) = (try await TestKey(.es256), try await TestKey(.es256))
    try write([old.jwk()])
    let clocks = TestClocks()
    let verifier = try await watcher(clocks)
    let token = try new.token(#"{"sub":"alice","exp":1800003600}"#)
    try write([new.jwk()])
    clocks.set(by: .seconds(step))
    await #expect(throws: TokenFailure.self) { try await verifier.verify(token) }
    clocks.pass(.seconds(1))
    _ = try await verifier.verify(token)
  }

  /// A verifier that reads the file again.
  private func watcher(_ clocks: TestClocks) async throws -> TokenVerifier {
    TokenVerifier(
      keys: [], file: try await KeySetFile(path: path), now: { clocks.time }, instant: { clocks.instant },
      log: Logger(label: "test"))
  }
}

/// Keeps the lines of a log.
private final class RecordedLog: LogHandler, Sendable {
  private let recorded = Mutex<[(message: String, metadata: Logger.Metadata)]>([])

  /// The counts and the keys in the lines with this message.
  func lines(of message: String) -> [[String]] {
    recorded.withLock { $0 }.filter { $0.message == message }.map { line in
      ["count", "keys"].map { line.metadata[$0]?.description ?? "" }
    }
  }

  func log(event: LogEvent) {
    recorded.withLock { $0.append((event.message.description, event.metadata ?? [:])) }
  }

  var logLevel: Logger.Level {
    get { .trace }
    set {}
  }
  var metadata: Logger.Metadata {
    get { [:] }
    set {}
  }
  subscript(metadataKey _: String) -> Logger.Metadata.Value? {
    get { nil }
    set {}
  }
}
