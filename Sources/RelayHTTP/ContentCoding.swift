// SPDX-License-Identifier: Apache-2.0
import CZlib

/// How the bytes of an answer may be coded (RFC 9110, section 8.4.1).
enum ContentCoding {
  /// These bytes in gzip's form (RFC 1952); nil when that is no smaller.
  static func gzip(_ bytes: [UInt8]) -> [UInt8]? {
    var stream = z_stream()
    // 16 beyond the size of the window asks for gzip's header instead of zlib's own.
    let isReady = deflateInit2_(
      &stream, Z_BEST_COMPRESSION, Z_DEFLATED, MAX_WBITS + 16, MAX_MEM_LEVEL, Z_DEFAULT_STRATEGY, ZLIB_VERSION,
      Int32(MemoryLayout<z_stream>.size))
    precondition(isReady == Z_OK, "zlib is another one than was built with, or there is no memory")
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

  /// Whether who sent this `Accept-Encoding` takes gzip (RFC 9110, section 12.5.3): it is named, else `*` is, and not
  /// with a weight of 0.
  static func takesGzip(_ field: String?) -> Bool {
    let weights = (field ?? "").split(separator: ",").map { element in
      let parts = element.split(separator: ";").map { $0.filter { !$0.isWhitespace }.lowercased() }
      let weight = parts.dropFirst().first { $0.hasPrefix("q=") }.map { Double($0.dropFirst(2)) ?? 0 }
      return (name: parts.first ?? "", isTaken: (weight ?? 1) > 0)
    }
    return weights.first { $0.name == "gzip" }?.isTaken ?? weights.first { $0.name == "*" }?.isTaken ?? false
  }
}
