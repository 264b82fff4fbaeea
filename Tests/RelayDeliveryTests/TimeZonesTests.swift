// SPDX-License-Identifier: Apache-2.0
import Foundation
import Testing

@testable import RelayDelivery

/// The time zones by their names: of the system's files, of the store, and of Swift.
@Suite struct TimeZonesTests {
  private static func zone(_ offset: Int32) -> [UInt8] { ZoneBytes(types: [offset]).bytes }

  private static func parse(_ files: [String: [UInt8]], version: String = "2026f") -> TimeZones {
    TimeZones.parse(version: version, files: files).zones
  }

  @Test(arguments: [
    "Europe/Zurich", "Europe/Kyiv", "Europe/Kiev", "Asia/Kolkata", "Asia/Calcutta", "America/Argentina/Buenos_Aires",
    "US/Pacific", "UTC", "GMT", "Etc/UTC", "Etc/GMT+5", "Pacific/Kiritimati",
  ])
  func `without zone files, an IANA name has the rules of Swift`(name: String) throws {
    let zones = TimeZones()
    #expect(zones.knows(name) && zones.version == nil)
    #expect(zones[name] == .swift(try #require(TimeZone(identifier: name))))
  }

  @Test func `without zone files, all old names are known`() {
    for name in TimeZones.placeless { #expect(TimeZones().knows(name), "\(name)") }
  }

  @Test(arguments: [
    "", "/", "Mars/Olympus", "europe/zurich", "Europe", "Europe/", "PST", "IST", "GMT+3", "GMT+0300", "UTC+1", "+01:00",
    "+00:00", "Etc/Unknown", "SystemV/PST8PDT", "../../etc/passwd", "/etc/localtime", "Europe/Zurich ",
  ])
  func `any other name is unknown, and counts as UTC`(name: String) {
    for zones in [TimeZones(), Self.parse(["Europe/Zurich": Self.zone(3600)])] {
      #expect(!zones.knows(name))
      #expect(zones[name] == .utc)
    }
  }

  @Test func `the zone files come first, and decide about the names that requests may use`() throws {
    let zones = Self.parse(["Europe/Berlin": Self.zone(100), "Mars/Olympus": Self.zone(200)])
    #expect((zones.version, zones.count) == ("2026f", 2))
    #expect(zones["Europe/Berlin"].offset(at: 0) == 100)
    #expect(zones.knows("Mars/Olympus") && zones["Mars/Olympus"].offset(at: 0) == 200)
    #expect(zones.file(of: "Mars/Olympus") == Self.zone(200))
    // Swift knows it, but new requests need a file. An older preference keeps its rules.
    #expect(!zones.knows("Asia/Tokyo") && zones.file(of: "Asia/Tokyo") == nil)
    #expect(zones["Asia/Tokyo"].offset(at: 1_700_000_000) == 32_400)
  }

  @Test func `a stored zone counts only if the zone files lack it`() {
    let system = Self.parse(["Europe/Berlin": Self.zone(100)])
    let zones = system.keeping(["Europe/Berlin": Self.zone(1), "Mars/Olympus": Self.zone(2), "Mars/Damaged": [0]])
    #expect(zones["Europe/Berlin"].offset(at: 0) == 100 && !zones.isKept("Europe/Berlin"))
    #expect(zones["Mars/Olympus"].offset(at: 0) == 2)
    #expect(zones.knows("Mars/Olympus") && zones.isKept("Mars/Olympus") && zones.kept == ["Mars/Olympus"])
    #expect(zones.file(of: "Mars/Olympus") == nil)
    #expect(!zones.knows("Mars/Damaged"))
    // Without zone files, a stored one is newer than the rules of Swift.
    #expect(TimeZones().keeping(["Europe/Berlin": Self.zone(1)])["Europe/Berlin"].offset(at: 0) == 1)
  }

  @Test func `a damaged file makes its zone unknown`() {
    let (zones, faults) = TimeZones.parse(version: "1", files: ["A/B": [1], "C/D": Self.zone(0)])
    #expect(faults == ["A/B": .truncated])
    #expect(!zones.knows("A/B") && zones.knows("C/D"))
    #expect(TimeZones.parse(version: "1", files: ["A/B": [1]]).zones == TimeZones())
  }

  @Test func `zones with other rules are not equal`() {
    #expect(Self.parse(["A/B": Self.zone(0)]) == Self.parse(["A/B": Self.zone(0)]))
    #expect(Self.parse(["A/B": Self.zone(0)]) != Self.parse(["A/B": Self.zone(1)]))
  }

  @Test(arguments: [
    ("2026f", "2026f"), ("2025b-0+deb12u1", "unknown"), ("2026f-rearguard", "2026f-rearguard"), ("", "unknown"),
    ("a\"b", "unknown"), ("2026\n", "unknown"), (String(repeating: "1", count: 32), String(repeating: "1", count: 32)),
    (String(repeating: "1", count: 33), "unknown"),
  ])
  func `a version has only characters that a metric's label may have`(text: String, version: String) {
    #expect(Self.parse(["A/B": Self.zone(0)], version: text).version == version)
  }
}
