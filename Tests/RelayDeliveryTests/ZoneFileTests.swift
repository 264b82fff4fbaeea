// SPDX-License-Identifier: Apache-2.0
import Foundation
import SeededRandom
import Testing

@testable import RelayDelivery

/// The parser of zone files, and the rules that it reads.
@Suite struct ZoneFileTests {
  private static func file(_ change: (inout ZoneBytes) -> Void = { _ in }) throws(ZoneFile.Fault) -> ZoneFile {
    var zone = ZoneBytes()
    change(&zone)
    return try ZoneFile(zone.bytes)
  }

  // MARK: Offsets

  @Test(arguments: [0, UInt8(ascii: "2"), UInt8(ascii: "3"), UInt8(ascii: "4")])
  func `all versions have the same transitions`(version: UInt8) throws {
    let zone = try Self.file {
      $0.version = version
      $0.types = [100, 3600, 7200]
      $0.times = [(-50, 1), (0, 2), (1_000, 2), (2_000, 1)]
    }
    let expected: [(Int64, Int64)] = [
      (-1_000_000_000_000, 100), (-51, 100), (-50, 3600), (-1, 3600), (0, 7200), (1_999, 7200), (2_000, 3600),
      (1_000_000_000_000, 3600),
    ]
    for (second, offset) in expected { #expect(zone.offset(at: second) == offset, "at \(second)") }
  }

  @Test func `times outside of 32 bits come from the data of version 2`() throws {
    let zone = try Self.file {
      $0.types = [0, 60]
      $0.times = [(-10_000_000_000, 1), (20_000_000_000, 0)]
    }
    #expect(zone.offset(at: -10_000_000_001) == 0)
    #expect(zone.offset(at: -10_000_000_000) == 60)
    #expect(zone.offset(at: 19_999_999_999) == 60)
    #expect(zone.offset(at: 20_000_000_000) == 0)
  }

  @Test func `the footer counts after the last transition, also if that changes no offset`() throws {
    let zone = try Self.file {
      $0.types = [3600, 7200]
      // 2026-01-01 and 2026-01-02. Until then no daylight saving time begins.
      $0.times = [(1_767_225_600, 0), (1_767_312_000, 0)]
      $0.footer = "\nCET-1CEST,M3.5.0,M10.5.0/3\n"
    }
    #expect(zone.offset(at: 1_750_000_000) == 3600)
    #expect(zone.offset(at: 1_774_745_999) == 3600)
    #expect(zone.offset(at: 1_774_746_000) == 7200)
  }

  struct FooterRow: Sendable {
    let text: String
    let time: String
    let offset: Int64

    init(_ text: String, _ time: String, _ offset: Int64) { (self.text, self.time, self.offset) = (text, time, offset) }
  }

  private static let berlin = "CET-1CEST,M3.5.0,M10.5.0/3"
  private static let footers = [
    FooterRow("UTC0", "2026-01-01T00:00:00Z", 0),
    FooterRow("<+0545>-5:45", "2026-01-01T00:00:00Z", 20_700),
    FooterRow("<-00>0", "2026-01-01T00:00:00Z", 0),
    FooterRow("LMT+1:02:03", "2026-01-01T00:00:00Z", -3723),
    FooterRow(berlin, "2026-03-29T00:59:59Z", 3600), FooterRow(berlin, "2026-03-29T01:00:00Z", 7200),
    FooterRow(berlin, "2026-10-25T00:59:59Z", 7200), FooterRow(berlin, "2026-10-25T01:00:00Z", 3600),
    FooterRow(berlin, "2400-03-26T00:59:59Z", 3600), FooterRow(berlin, "2400-03-26T01:00:00Z", 7200),
    // The south: daylight saving time lasts over the turn of the year.
    FooterRow("AEST-10AEDT,M10.1.0,M4.1.0/3", "2026-01-01T00:00:00Z", 39_600),
    FooterRow("AEST-10AEDT,M10.1.0,M4.1.0/3", "2026-04-04T15:59:59Z", 39_600),
    FooterRow("AEST-10AEDT,M10.1.0,M4.1.0/3", "2026-04-04T16:00:00Z", 36_000),
    // Half an hour.
    FooterRow("<+1030>-10:30<+11>-11,M10.1.0,M4.1.0", "2026-10-03T15:30:00Z", 39_600),
    FooterRow("<+1030>-10:30<+11>-11,M10.1.0,M4.1.0", "2026-10-03T15:29:59Z", 37_800),
    // Negative daylight saving time.
    FooterRow("IST-1GMT0,M10.5.0,M3.5.0/1", "2026-12-01T00:00:00Z", 0),
    FooterRow("IST-1GMT0,M10.5.0,M3.5.0/1", "2026-06-01T00:00:00Z", 3600),
    // Julian days: February 29 is not counted, and then it is.
    FooterRow("AAA0BBB,J60/0,J300/0", "2028-02-29T23:59:59Z", 0),
    FooterRow("AAA0BBB,J60/0,J300/0", "2028-03-01T00:00:00Z", 3600),
    FooterRow("AAA0BBB,J59/0,J300/0", "2028-02-28T00:00:00Z", 3600),
    FooterRow("AAA0BBB,59/0,300/0", "2028-02-28T23:59:59Z", 0),
    FooterRow("AAA0BBB,59/0,300/0", "2028-02-29T00:00:00Z", 3600),
    FooterRow("AAA0BBB,59/0,300/0", "2027-02-28T23:59:59Z", 0),
    FooterRow("AAA0BBB,59/0,300/0", "2027-03-01T00:00:00Z", 3600),
    // Version 3: the change is on another day than its date, or in another year.
    FooterRow("<-02>2<-01>,M3.5.0/-1,M10.5.0/0", "2026-03-29T00:59:59Z", -7200),
    FooterRow("<-02>2<-01>,M3.5.0/-1,M10.5.0/0", "2026-03-29T01:00:00Z", -3600),
    FooterRow("EET-2EEST,M3.4.4/50,M10.4.4/50", "2026-03-28T00:00:00Z", 10_800),
    FooterRow("EET-2EEST,M3.4.4/50,M10.4.4/50", "2026-03-27T23:59:59Z", 7200),
    FooterRow("AAA0BBB,M1.1.1/-167,M7.1.1", "2026-12-28T01:00:00Z", 3600),
    FooterRow("AAA0BBB,M1.1.1/-167,M7.1.1", "2026-12-28T00:59:59Z", 0),
    FooterRow("AAA0BBB,M7.1.1,J365/167", "2027-01-06T21:59:59Z", 3600),
    FooterRow("AAA0BBB,M7.1.1,J365/167", "2027-01-06T22:00:00Z", 0),
    // Daylight saving time all year.
    FooterRow("XXX3EDT4,0/0,J365/23", "2026-01-01T02:59:59Z", -14_400),
    FooterRow("XXX3EDT4,0/0,J365/23", "2026-01-01T03:00:00Z", -14_400),
    FooterRow("XXX3EDT4,0/0,J365/23", "2028-07-01T00:00:00Z", -14_400),
    FooterRow("EST5EDT,0/0,J365/25", "2026-01-01T05:00:00Z", -14_400),
    FooterRow("EST5EDT,0/0,J365/25", "2026-12-31T23:00:00Z", -14_400),
  ]

  @Test(arguments: footers.indices)
  func `a footer gives the offset of each year`(index: Int) throws {
    let row = Self.footers[index]
    let time = Int64(try Date(row.time, strategy: .iso8601).timeIntervalSince1970)
    let zone = try Self.file {
      $0.version = UInt8(ascii: "3")
      $0.footer = "\n\(row.text)\n"
    }
    #expect(zone.offset(at: time) == row.offset, "\(row.text) at \(row.time)")
  }

  @Test(arguments: [
    "X", "UTC", "UT0", "UTC0 ", "UTC24", "UTC25", "UTC-24", "UTC0:60", "UTC0:00:60", "UTC0:", "UTC0:0:", "UTC1234",
    "<UTC0", "<U>0", "<U C>0", "U1C0", "CET-1CEST", "CET-1CEST,M3.5.0", "CET-1CEST,M3.5.0,",
    "CET-1CEST,M3.5.0,M10.5.0,",
    "CET-1CEST,M0.5.0,M10.5.0", "CET-1CEST,M13.5.0,M10.5.0", "CET-1CEST,M3.0.0,M10.5.0", "CET-1CEST,M3.6.0,M10.5.0",
    "CET-1CEST,M3.5.7,M10.5.0", "CET-1CEST,J0,J1", "CET-1CEST,J366,J1", "CET-1CEST,366,1", "CET-1CEST,-1,1",
    "CET-1CEST,M3.5.0/168,M10.5.0", "CET-1CEST,M3.5.0/,M10.5.0", "CET-1CEST-24,M3.5.0,M10.5.0",
    "CET-1CE,M3.5.0,M10.5.0",
    "CET+-1", "CET--1", "\u{0}", String(repeating: "A", count: 254) + "0", String(repeating: "A", count: 255) + "0",
  ])
  func `a footer that is no TZ string is refused`(text: String) {
    guard text.utf8.count != 255 else {
      #expect(throws: Never.self) { try Self.file { $0.footer = "\n\(text)\n" } }
      return
    }
    #expect(throws: ZoneFile.Fault.footer) {
      try Self.file {
        $0.version = UInt8(ascii: "3")
        $0.footer = "\n\(text)\n"
      }
    }
  }

  @Test(arguments: ["AAA0BBB,M3.5.0/-1,M10.5.0", "AAA0BBB,M3.5.0/25,M10.5.0", "AAA0BBB,M3.5.0/+2,M10.5.0"])
  func `only version 3 has times outside of a day`(text: String) {
    #expect(throws: ZoneFile.Fault.footer) { try Self.file { $0.footer = "\n\(text)\n" } }
    #expect(throws: Never.self) {
      try Self.file {
        $0.version = UInt8(ascii: "3")
        $0.footer = "\n\(text)\n"
      }
    }
  }

  // MARK: Damaged files

  private static let damages: [(String, ZoneFile.Fault, @Sendable (inout ZoneBytes) -> Void)] = [
    ("version 5", .version, { $0.version = UInt8(ascii: "5") }),
    ("version 1 as a digit", .version, { $0.version = UInt8(ascii: "1") }),
    ("two versions", .version, { $0.secondVersion = UInt8(ascii: "3") }),
    ("no types", .counts, { $0.types = [] }),
    ("no names", .counts, { $0.names = [] }),
    ("too many times", .counts, { $0.counts = [3: 2_001] }),
    ("too many types", .counts, { $0.counts = [4: 257] }),
    ("too many names", .counts, { $0.counts = [5: 513] }),
    ("a count with the sign bit", .counts, { $0.counts = [3: 0xFFFF_FFFF] }),
    (
      "too few standard indicators", .counts,
      {
        $0.types = [0, 1]; $0.isStandard = [0]
      }
    ),
    (
      "too few UT indicators", .counts,
      {
        $0.types = [0, 1]; $0.isUT = [0]
      }
    ),
    ("leap seconds", .leapSeconds, { $0.leaps = [(78_796_800, 1)] }),
    ("equal times", .order, { $0.times = [(5, 0), (5, 0)] }),
    ("descending times", .order, { $0.times = [(5, 0), (4, 0)] }),
    ("a time after 2^59", .order, { $0.times = [(ZoneFile.maxTime + 1, 0)] }),
    ("the earliest time", .order, { $0.times = [(.min, 0)] }),
    ("an unknown type", .type, { $0.times = [(5, 1)] }),
    ("an offset of a day", .type, { $0.types = [86_400] }),
    ("a negative offset of a day", .type, { $0.types = [-86_400] }),
    ("the lowest offset", .type, { $0.types = [.min] }),
    ("daylight 2", .type, { $0.daylight = 2 }),
    ("a name after the end", .type, { $0.nameIndex = 4 }),
    ("names without an end", .type, { $0.names = Array("UTC".utf8) }),
    ("an indicator of 2", .type, { $0.isStandard = [2] }),
    (
      "UT without standard", .type,
      {
        $0.isStandard = [0]; $0.isUT = [1]
      }
    ),
    ("UT alone", .type, { $0.isUT = [1] }),
    ("a footer without a begin", .footer, { $0.footer = "UTC0\n" }),
    (
      "a footer with another offset", .footer,
      {
        $0.times = [(5, 0)]; $0.footer = "\nUTC-1\n"
      }
    ),
    ("no footer", .truncated, { $0.footer = nil }),
    ("a footer without an end", .truncated, { $0.footer = "\nUTC0" }),
    ("bytes after the footer", .trailing, { $0.footer = "\nUTC0\n\n" }),
  ]

  @Test(arguments: damages.indices)
  func `a damaged file is refused with its fault`(index: Int) {
    let (name, fault, damage) = Self.damages[index]
    #expect(throws: fault, "\(name)") { try Self.file(damage) }
  }

  @Test func `files at the limits are accepted`() throws {
    let zone = try Self.file {
      $0.types = (0..<256).map { Int32($0) - 128 }
      $0.names = [UInt8](repeating: 0, count: ZoneFile.maxNames)
      $0.times = (0..<Int64(ZoneFile.maxTimes)).map { ($0 * 10, UInt8($0 % 256)) }
      $0.isStandard = [UInt8](repeating: 1, count: 256)
      $0.isUT = [UInt8](repeating: 1, count: 256)
    }
    for index in 0..<Int64(ZoneFile.maxTimes) { #expect(zone.offset(at: index * 10 + 9) == index % 256 - 128) }
    #expect(throws: Never.self) { try Self.file { $0.types = [86_399] } }
    #expect(throws: Never.self) { try Self.file { $0.names = [0] } }
    #expect(throws: Never.self) { try Self.file { $0.daylight = 1 } }
    #expect(ZoneFile.maxTime == 576_460_752_303_423_488)
    #expect(throws: Never.self) { try Self.file { $0.times = [(-ZoneFile.maxTime, 0), (ZoneFile.maxTime, 0)] } }
    #expect(throws: ZoneFile.Fault.size) { try ZoneFile([UInt8](repeating: 0, count: ZoneFile.maxSize + 1)) }
    #expect(throws: ZoneFile.Fault.magic) { try ZoneFile([UInt8](repeating: 0, count: ZoneFile.maxSize)) }
  }

  @Test func `zones are equal if they have the same changes, offsets and rule`() throws {
    func zone(_ times: [Int64], _ types: [Int32], _ footer: String = "CET-1") throws -> ZoneFile {
      try Self.file {
        $0.types = types
        $0.times = times.enumerated().map { ($0.element, UInt8($0.offset % types.count)) }
        $0.footer = "\n\(footer)\n"
      }
    }
    let zones = [
      try zone([0, 9, 20], [3600, 7200]), try zone([0, 10, 20], [3600, 7200]), try zone([0, 9, 20], [3600, 10_800]),
      try zone([0, 9, 20], [3600, 7200], "AAA-1BBB,M3.5.0,M10.5.0"),
      try zone([0, 9, 20], [3600, 7200], ""),
      // The rule begins at another time, with a transition that changes no offset.
      try zone([0, 9, 20, 30], [3600, 7200, 3600, 3600]),
    ]
    for (first, one) in zones.enumerated() {
      for (second, other) in zones.enumerated() { #expect((one == other) == (first == second), "\(first), \(second)") }
    }
  }

  /// A file of each form, to damage it.
  private static let sound: [[UInt8]] = [0, 50, 51, 52].map { version in
    ZoneBytes(
      version: version, times: [(-50, 1), (0, 0), (1_700_000_000, 1)], types: [3600, 7200], isStandard: [1, 0],
      isUT: [1, 0], footer: "\nCET-2\n"
    ).bytes
  }

  @Test(arguments: sound.indices)
  func `each truncated file is refused`(index: Int) {
    let bytes = Self.sound[index]
    #expect(throws: Never.self) { try ZoneFile(bytes) }
    for size in 0..<bytes.count {
      #expect(throws: ZoneFile.Fault.self, "\(size) bytes") { try ZoneFile(Array(bytes.prefix(size))) }
    }
  }

  @Test(arguments: sound.indices, [1, 2, 3])
  func `a file with damaged bytes is refused, or has offsets within a day`(index: Int, seed: Int) {
    var dice = SeededGenerator(seed: seed)
    for _ in 0..<3_000 {
      var bytes = Self.sound[index]
      for _ in 0...Int.random(in: 0..<3, using: &dice) {
        let position = Int.random(in: 0..<bytes.count, using: &dice)
        switch Int.random(in: 0..<4, using: &dice) {
        case 0: bytes.remove(at: position)
        case 1: bytes.insert(.random(in: 0...255, using: &dice), at: position)
        case 2: bytes[position] ^= 1 << UInt8.random(in: 0..<8, using: &dice)
        default: bytes[position] = .random(in: 0...255, using: &dice)
        }
      }
      guard let zone = try? ZoneFile(bytes) else { continue }
      for second in [-9_007_199_254_740, -51, 0, 1_700_000_000, 9_007_199_254_740] as [Int64] {
        #expect(abs(zone.offset(at: second)) < 86_400)
      }
    }
  }
}
