// SPDX-License-Identifier: Apache-2.0
import Foundation
import Testing

@testable import RelayIdentity

/// Files with secrets, and symbolic links to them.
@Suite final class PrivateFileTests {
  private let folder = NSTemporaryDirectory() + "stillwire-private-\(UInt64.random(in: 0...UInt64.max))"
  private static let secret = String(repeating: "s", count: SecretFile.minTokenSecret)

  init() throws { try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true) }
  deinit { try? FileManager.default.removeItem(atPath: folder) }

  /// A link to a new file with these permissions.
  private func link(mode: Int) throws -> String {
    let (files, file, link) = (FileManager.default, folder + "/file-\(mode)", folder + "/link-\(mode)")
    try Data(Self.secret.utf8).write(to: URL(fileURLWithPath: file))
    try files.setAttributes([.posixPermissions: mode], ofItemAtPath: file)
    try files.createSymbolicLink(atPath: link, withDestinationPath: file)
    return link
  }

  @Test(arguments: [0o600, 0o440])
  func `a link to a private file is as good as the file`(mode: Int) throws {
    let path = try link(mode: mode)
    #expect(try PrivateFile(path, at: "keyFile").text == Self.secret)
    #expect(try SecretFile(forTokensAt: path).secret == Array(Self.secret.utf8))
  }

  @Test(arguments: [0o644, 0o602, 0o601])
  func `a link to a file that others may use is refused`(mode: Int) throws {
    let path = try link(mode: mode)
    let error = #expect(throws: StartupError.self) { try PrivateFile(path, at: "keyFile") }
    #expect(error?.description.contains("read by others") == true)
    #expect(throws: StartupError.self) { try SecretFile(forTokensAt: path) }
  }

  @Test func `nobody waits for a named pipe`() async throws {
    let pipe = folder + "/pipe"
    try #require(mkfifo(pipe, 0o600) == 0)
    let reason = "\(pipe) cannot be read: it is a named pipe, and not a regular file"
    #expect(throws: StartupError.self) { try PrivateFile(pipe, at: "keyFile") }
    let secret = #expect(throws: StartupError.self) { try SecretFile(forTokensAt: pipe) }
    #expect(secret?.description == "the secret file \(reason)")
    let keys = #expect(throws: StartupError.self) { try APIKeys(path: pipe) }
    #expect(keys?.description == "the file of API keys \(reason)")
    #expect(throws: StartupError.self) { try APIKeys.add("a", to: pipe) }
    #expect(throws: StartupError.self) { try APIKeys.remove("a", from: pipe) }
    let set = await #expect(throws: StartupError.self) { try await KeySetFile(path: pipe) }
    #expect(set?.description == "the key set \(reason)")
    let key = await #expect(throws: StartupError.self) { try await TokenKeySource("ES256::\(pipe)").read() }
    #expect(key?.description == "tokens.keys: \(reason)")
  }

  @Test func `a link that leads nowhere, and a folder, cannot be read`() throws {
    let link = folder + "/nowhere"
    try FileManager.default.createSymbolicLink(atPath: link, withDestinationPath: folder + "/none")
    for path in [link, folder] {
      let error = #expect(throws: StartupError.self) { try PrivateFile(path, at: "keyFile") }
      #expect(error?.description.contains("cannot be read") == true)
    }
  }
}
