// SPDX-License-Identifier: Apache-2.0

/// Writes a zone file (RFC 8536) for tests, as it should be or with one fault.
struct ZoneBytes {
  var version: UInt8 = UInt8(ascii: "2")
  /// The version in the second header.
  var secondVersion: UInt8?
  /// The times with the index of the local time type after them.
  var times: [(time: Int64, type: UInt8)] = []
  /// The offsets of the local time types.
  var types: [Int32] = [0]
  var daylight: UInt8 = 0
  var nameIndex: UInt8 = 0
  var names: [UInt8] = Array("UTC".utf8) + [0]
  var leaps: [(time: Int64, total: Int32)] = []
  var isStandard: [UInt8] = []
  var isUT: [UInt8] = []
  var footer: String? = "\n\n"
  /// Replaces a count in each header: UT, standard, leap seconds, times, types, names.
  var counts: [Int: UInt32] = [:]

  var bytes: [UInt8] {
    guard version != 0 else { return block(version, isWide: false) }
    return block(version, isWide: false) + block(secondVersion ?? version, isWide: true) + Array((footer ?? "").utf8)
  }

  private func block(_ version: UInt8, isWide: Bool) -> [UInt8] {
    let real = [isUT.count, isStandard.count, leaps.count, times.count, types.count, names.count]
    var bytes = Array("TZif".utf8) + [version] + [UInt8](repeating: 0, count: 15)
    for (index, count) in real.enumerated() { bytes += big(counts[index] ?? UInt32(count)) }
    func time(_ time: Int64) -> [UInt8] { isWide ? big(time) : big(Int32(truncatingIfNeeded: time)) }
    for entry in times { bytes += time(entry.time) }
    bytes += times.map(\.type)
    for type in types { bytes += big(type) + [daylight, nameIndex] }
    bytes += names
    for leap in leaps { bytes += time(leap.time) + big(leap.total) }
    return bytes + isStandard + isUT
  }

  private func big(_ number: some FixedWidthInteger) -> [UInt8] { withUnsafeBytes(of: number.bigEndian) { Array($0) } }
}
