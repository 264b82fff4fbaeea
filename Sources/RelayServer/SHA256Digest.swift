// SPDX-License-Identifier: Apache-2.0
import Crypto
import RelayCluster

/// The SHA-256 of a snapshot.
struct SHA256Digest: CopyDigest {
  private var hash = SHA256()

  mutating func update(_ bytes: [UInt8]) { hash.update(data: bytes) }

  func finish() -> String {
    hash.finalize().map { byte in
      let digits = String(byte, radix: 16)
      return digits.count == 1 ? "0" + digits : digits
    }.joined()
  }
}
