// SPDX-License-Identifier: Apache-2.0
import Foundation

/// A file with a secret.
public struct SecretFile: Sendable {
  public let secret: [UInt8]

  /// A line feed at the end does not count. Throws ``StartupError``.
  public init(path: String) throws(StartupError) {
    guard let data = FileManager.default.contents(atPath: path) else {
      throw StartupError("the secret file \(path) cannot be read")
    }
    var bytes = [UInt8](data)
    while bytes.last == 0x0A || bytes.last == 0x0D { bytes.removeLast() }
    guard !bytes.isEmpty else { throw StartupError("the secret file \(path) is empty") }
    secret = bytes
  }
}
