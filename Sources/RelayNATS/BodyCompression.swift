// SPDX-License-Identifier: Apache-2.0
import CLZ4
import RelayCluster

/// Compresses the bodies of large records with LZ4 (Debian's liblz4-dev), as one block without a frame.
///
/// Pure. Anybody who may write to the log can write any block, so the reader allocates at most ``LogRecord/maxBody``.
enum BodyCompression {
  /// A larger body is compressed. A smaller one needs few packets, and its compression saves little.
  static let threshold = 32_000
  /// The header of a compressed body. Its value is the size of the original body in bytes.
  static let header = "Uncompressed-Size"

  /// Returns `nil` if the body is sent as it is: it is small, or compression does not make it smaller.
  static func compressed(_ body: [UInt8]) -> [UInt8]? {
    guard body.count > threshold else { return nil }
    // Without capacity for more, LZ4 returns 0 for a body that does not become smaller.
    let capacity = body.count - 1
    let packed = [UInt8](unsafeUninitializedCapacity: capacity) { target, count in
      count = body.withUnsafeBytes { source in
        Int(
          LZ4_compress_default(
            source.baseAddress?.assumingMemoryBound(to: CChar.self),
            UnsafeMutableRawPointer(target.baseAddress)?.assumingMemoryBound(to: CChar.self), Int32(source.count),
            Int32(capacity)))
      }
    }
    return packed.isEmpty ? nil : packed
  }

  /// Returns the original body. Returns `nil` if the block is damaged, or has another size than `size`.
  static func body(of packed: [UInt8], size: Int) -> [UInt8]? {
    guard (1...LogRecord.maxBody).contains(size) else { return nil }
    let body = [UInt8](unsafeUninitializedCapacity: size) { target, count in
      let result = packed.withUnsafeBytes { source in
        LZ4_decompress_safe(
          source.baseAddress?.assumingMemoryBound(to: CChar.self),
          UnsafeMutableRawPointer(target.baseAddress)?.assumingMemoryBound(to: CChar.self), Int32(source.count),
          Int32(size))
      }
      count = max(0, Int(result))
    }
    return body.count == size ? body : nil
  }
}
