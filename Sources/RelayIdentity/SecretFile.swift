// SPDX-License-Identifier: Apache-2.0
import Foundation

/// A file with a secret.
public struct SecretFile: Sendable {
  public let secret: [UInt8]

  /// Reads the file, without the line breaks at its end. Throws ``StartupError``.
  public init(path: String) throws(StartupError) {
    try self.init(path, Self.open(path))
  }

  private static func open(_ path: String) throws(StartupError) -> OpenedFile {
    try OpenedFile(path, as: "the secret file")
  }

  private init(_ path: String, _ file: OpenedFile) throws(StartupError) {
    var bytes = [UInt8](file.data)
    while bytes.last == 0x0A || bytes.last == 0x0D { bytes.removeLast() }
    guard !bytes.isEmpty else { throw StartupError("the secret file \(path) is empty") }
    secret = bytes
  }

  /// The minimum length of a secret for HS256, in bytes (RFC 7518, section 3.2).
  public static let minTokenSecret = 32

  /// Reads a secret that signs tokens. Everybody who knows or guesses it can act as any user.
  ///
  /// Throws ``StartupError`` if the secret is shorter than ``minTokenSecret``, or if users other than the owner and the
  /// group have any permission on the file.
  public init(forTokensAt path: String) throws(StartupError) {
    let file = try Self.open(path)
    try self.init(path, file)
    guard secret.count >= Self.minTokenSecret else {
      throw StartupError(
        "the secret file \(path) has \(secret.count) bytes, and a secret for tokens needs \(Self.minTokenSecret) or more:"
          + " (umask 077; head -c 32 /dev/urandom | base64 > \(path))")
    }
    try file.checkMode(of: path, at: "the secret file")
  }
}
