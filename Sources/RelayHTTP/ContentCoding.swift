// SPDX-License-Identifier: Apache-2.0
import CZlib

// Compression of answers with gzip. The only file that imports zlib.

/// The content codings of answers (RFC 9110, section 8.4.1).
enum ContentCoding {
  /// Compresses bytes with gzip (RFC 1952). Returns `nil` if the result is not smaller.
  static func gzip(_ bytes: [UInt8]) -> [UInt8]? {
    var stream = z_stream()
    // Adding 16 to the size of the window selects gzip's header instead of zlib's.
    let isReady = deflateInit2_(
      &stream, Z_DEFAULT_COMPRESSION, Z_DEFLATED, MAX_WBITS + 16, MAX_MEM_LEVEL, Z_DEFAULT_STRATEGY, ZLIB_VERSION,
      Int32(MemoryLayout<z_stream>.size))
    precondition(isReady == Z_OK, "zlib has another version than at build time, or the process is out of memory")
    defer { deflateEnd(&stream) }
    var input = bytes
    var output = [UInt8](repeating: 0, count: max(0, bytes.count - 1))
    let isWhole = input.withUnsafeMutableBufferPointer { input in
      output.withUnsafeMutableBufferPointer { output in
        stream.next_in = input.baseAddress
        stream.avail_in = UInt32(input.count)
        stream.next_out = output.baseAddress
        stream.avail_out = UInt32(output.count)
        return deflate(&stream, Z_FINISH) == Z_STREAM_END
      }
    }
    guard isWhole else { return nil }
    output.removeLast(Int(stream.avail_out))
    return output
  }

  /// True if an `Accept-Encoding` field accepts gzip (RFC 9110, section 12.5.3): its item for `gzip`, or else for `*`,
  /// has a weight above 0.
  static func takesGzip(_ field: String?) -> Bool {
    let weights = (field ?? "").split(separator: ",").map { element in
      let parts = element.split(separator: ";").map { $0.filter { !$0.isWhitespace }.lowercased() }
      let weight = parts.dropFirst().first { $0.hasPrefix("q=") }.map { Double($0.dropFirst(2)) ?? 0 }
      return (name: parts.first ?? "", isTaken: (weight ?? 1) > 0)
    }
    return weights.first { $0.name == "gzip" }?.isTaken ?? weights.first { $0.name == "*" }?.isTaken ?? false
  }
}
