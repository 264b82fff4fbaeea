// SPDX-License-Identifier: Apache-2.0

// The rules of one time zone, parsed from a file of the system (TZif, RFC 8536 and RFC 9636). Pure; depends on nothing.
//
// The parser is our own. Libraries are fast enough, but none of those in Debian 12 applies a new tzdata package to a
// running program. Measured on one core, with 60 zones in turns, in 2026 and in 2096:
//
// | rules | million lookups a second | a new tzdata package |
// |---|---|---|
// | this file | 30, 31 | applies at a reload; 553 files take 9 ms |
// | libabsl-dev 20220623 (cctz) | 14, 11 | never applies: the library keeps each zone that it has loaded |
// | libhowardhinnant-date-dev 3.0.1 | 48, 59 | never applies: with the system's files it has no `reload_tzdb` |
// | Swift 6.3.1 | 21, 42 | never applies: the rules are a part of the toolchain |

/// The offsets of a time zone from UTC, as one file declares them.
public struct ZoneFile: Equatable, Sendable {
  /// The seconds since 1970 at which the offset changes, ascending.
  private let changes: [Int64]
  /// The offset before the first change, and after each change, in seconds east of UTC.
  private let offsets: [Int32]
  /// The rule for the time after the last entry of the file. Is `nil` if the last offset remains.
  private let footer: (rule: PosixZone, from: Int64)?

  /// The maximum size of a file. The largest file of tzdata has 4 kB.
  public static let maxSize = 65_536
  /// The limits of the tz project's own reader (`tzfile.h`).
  static let maxTimes = 2_000
  static let maxTypes = 256
  static let maxNames = 512
  /// The distance of the Big Bang from 1970, by which RFC 8536 limits times. In seconds.
  static let maxTime: Int64 = 1 << 59

  /// The reason for which a file is refused.
  public enum Fault: String, Error, CaseIterable {
    case size = "it has more than 65,536 bytes"
    case magic = "it does not begin with TZif"
    case version = "its version is not 1, 2, 3 or 4"
    case truncated = "it is truncated"
    case counts = "a count in its header is not allowed"
    case leapSeconds = "it counts leap seconds, which the system's clock does not"
    case order = "its transitions are not in ascending order, or not within 2^59 s of 1970"
    case type = "a local time type does not exist, or is not allowed"
    case footer = "its footer is not a TZ string, or does not fit its last transition"
    case trailing = "bytes follow its end"
  }

  /// Parses a file. Reads the 64-bit data of version 2 and later, and the 32-bit data of version 1.
  public init(_ bytes: [UInt8]) throws(Fault) {
    guard bytes.count <= Self.maxSize else { throw .size }
    var input = Input(bytes)
    let first = try Header(&input)
    guard first.version > 1 else {
      let table = try Table(&input, first, isWide: false)
      guard input.isAtEnd else { throw .trailing }
      self.init(table, nil)
      return
    }
    // Readers of version 2 skip the 32-bit data.
    try input.skip(first.narrowSize)
    let second = try Header(&input)
    guard second.version == first.version else { throw .version }
    let table = try Table(&input, second, isWide: true)
    let text = try input.footer()
    guard input.isAtEnd else { throw .trailing }
    guard !text.isEmpty else {
      self.init(table, nil)
      return
    }
    guard let rule = PosixZone(text, allowsLongTimes: second.version > 2) else { throw .footer }
    if let last = table.times.last, rule.offset(at: last) != Int64(table.last) { throw .footer }
    self.init(table, rule)
  }

  private init(_ table: Table, _ rule: PosixZone?) {
    var changes: [Int64] = []
    var offsets = [table.types[0]]
    // A transition may change only the name of the local time.
    for (time, type) in zip(table.times, table.indices) where table.types[type] != offsets[offsets.count - 1] {
      changes.append(time)
      offsets.append(table.types[type])
    }
    self.changes = changes
    self.offsets = offsets
    footer = rule.map { ($0, table.times.last ?? .min) }
  }

  public static func == (a: Self, b: Self) -> Bool {
    a.changes == b.changes && a.offsets == b.offsets && a.footer?.rule == b.footer?.rule
      && a.footer?.from == b.footer?.from
  }

  /// The offset in seconds east of UTC. Its absolute value is less than a day.
  public func offset(at second: Int64) -> Int64 {
    if let footer, second >= footer.from { return footer.rule.offset(at: second) }
    var (low, high) = (0, changes.count)
    while low < high {
      let middle = (low + high) / 2
      if changes[middle] <= second { low = middle + 1 } else { high = middle }
    }
    return Int64(offsets[low])
  }
}

/// The bytes of a file, and the position of the parser.
private struct Input {
  private let bytes: [UInt8]
  private var position = 0

  init(_ bytes: [UInt8]) { self.bytes = bytes }

  var isAtEnd: Bool { position == bytes.count }

  mutating func skip(_ count: Int) throws(ZoneFile.Fault) { _ = try take(count) }

  /// Takes the next bytes.
  mutating func take(_ count: Int) throws(ZoneFile.Fault) -> ArraySlice<UInt8> {
    guard bytes.count - position >= count else { throw .truncated }
    defer { position += count }
    return bytes[position..<position + count]
  }

  mutating func byte() throws(ZoneFile.Fault) -> UInt8 {
    guard position < bytes.count else { throw .truncated }
    defer { position += 1 }
    return bytes[position]
  }

  /// Takes a big-endian number with this type's size.
  mutating func number<Number: FixedWidthInteger>(_ type: Number.Type) throws(ZoneFile.Fault) -> Number {
    let size = MemoryLayout<Number>.size
    guard bytes.count - position >= size else { throw .truncated }
    defer { position += size }
    return bytes.withUnsafeBytes { Number(bigEndian: $0.loadUnaligned(fromByteOffset: position, as: type)) }
  }

  /// Takes a line between two line feeds.
  mutating func footer() throws(ZoneFile.Fault) -> ArraySlice<UInt8> {
    guard try byte() == UInt8(ascii: "\n") else { throw .footer }
    guard let end = bytes[position...].firstIndex(of: UInt8(ascii: "\n")) else { throw .truncated }
    defer { position = end + 1 }
    return bytes[position..<end]
  }
}

/// A header of 44 bytes, with the sizes of the data that follow it.
private struct Header {
  let version: Int
  let utCount: Int
  let standardCount: Int
  let leapCount: Int
  let timeCount: Int
  let typeCount: Int
  let nameSize: Int

  init(_ input: inout Input) throws(ZoneFile.Fault) {
    guard try input.take(4).elementsEqual("TZif".utf8) else { throw .magic }
    switch try input.byte() {
    case 0: version = 1
    case UInt8(ascii: "2"): version = 2
    case UInt8(ascii: "3"): version = 3
    case UInt8(ascii: "4"): version = 4
    default: throw .version
    }
    try input.skip(15)
    func count(_ maximum: Int) throws(ZoneFile.Fault) -> Int {
      let count = try input.number(UInt32.self)
      guard count <= maximum else { throw .counts }
      return Int(count)
    }
    utCount = try count(ZoneFile.maxTypes)
    standardCount = try count(ZoneFile.maxTypes)
    leapCount = try count(ZoneFile.maxTimes)
    timeCount = try count(ZoneFile.maxTimes)
    typeCount = try count(ZoneFile.maxTypes)
    nameSize = try count(ZoneFile.maxNames)
  }

  /// The size of the data with times of 32 bits.
  var narrowSize: Int { timeCount * 5 + typeCount * 6 + nameSize + leapCount * 8 + standardCount + utCount }
}

/// The data after a header.
private struct Table {
  let times: [Int64]
  /// The local time type after each transition, an index into `types`.
  let indices: [Int]
  /// The offset of each local time type.
  let types: [Int32]

  init(_ input: inout Input, _ header: Header, isWide: Bool) throws(ZoneFile.Fault) {
    guard header.typeCount > 0, header.nameSize > 0,
      header.standardCount == 0 || header.standardCount == header.typeCount,
      header.utCount == 0 || header.utCount == header.typeCount
    else { throw .counts }
    guard header.leapCount == 0 else { throw .leapSeconds }
    var times: [Int64] = []
    times.reserveCapacity(header.timeCount)
    for _ in 0..<header.timeCount {
      let time = isWide ? try input.number(Int64.self) : Int64(try input.number(Int32.self))
      if let last = times.last, time <= last { throw .order }
      // Later code adds an offset to a time.
      guard time.magnitude <= ZoneFile.maxTime else { throw .order }
      times.append(time)
    }
    let indices = try input.take(header.timeCount).map(Int.init)
    guard indices.allSatisfy({ $0 < header.typeCount }) else { throw .type }
    var types: [Int32] = []
    for _ in 0..<header.typeCount {
      let offset = try input.number(Int32.self)
      let (isDaylight, name) = (try input.byte(), try input.byte())
      guard -86_400 < offset, offset < 86_400, isDaylight <= 1, name < header.nameSize else { throw .type }
      types.append(offset)
    }
    guard try input.take(header.nameSize).last == 0 else { throw .type }
    let isStandard = Array(try input.take(header.standardCount))
    let isUT = Array(try input.take(header.utCount))
    guard (isStandard + isUT).allSatisfy({ $0 <= 1 }) else { throw .type }
    // A transition at a time in UT is one at a standard time, too.
    for (index, flag) in isUT.enumerated() where flag == 1 {
      guard index < isStandard.count, isStandard[index] == 1 else { throw .type }
    }
    (self.times, self.indices, self.types) = (times, indices, types)
  }

  /// The offset after the last transition.
  var last: Int32 { types[indices.last ?? 0] }
}
