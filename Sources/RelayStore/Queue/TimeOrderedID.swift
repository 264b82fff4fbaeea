// SPDX-License-Identifier: Apache-2.0
import Foundation
import RelayProtocol

/// A UUID of version 7 (RFC 9562). It begins with the time, so that new rows are near each other in an index; 74 bits
/// are random.
enum TimeOrderedID {
  static func text(at time: Timestamp) -> String {
    var bytes = UUID().uuid  // random, of version 4
    withUnsafeMutableBytes(of: &bytes) { bytes in
      withUnsafeBytes(of: (time.rawValue << 16).bigEndian) { bytes.copyMemory(from: .init(rebasing: $0.prefix(6))) }
    }
    bytes.6 = 0x70 | bytes.6 & 0x0F
    return UUID(uuid: bytes).uuidString.lowercased()
  }
}
