// SPDX-License-Identifier: Apache-2.0
import ChildProcess
import Foundation
import Testing

@testable import RelayDelivery

/// The rules of every zone of a tzdata package, compared with `zdump`, which reads the files with the C library.
///
/// `make test` gives an older package as well: `STILLWIRE_OLDER_ZONES` has its folder.
@Suite struct ZoneDumpTests {
  private static let folders = [
    "/usr/share/zoneinfo", ProcessInfo.processInfo.environment["STILLWIRE_OLDER_ZONES"],
  ].compactMap { $0 }

  /// The offset of a zone from each of these seconds on. A zone without transitions since 2000 has one step, in the
  /// distant past.
  private struct Dump {
    var steps: [(second: Int64, offset: Int64)] = []
  }

  /// The names of `tzdata.zi`: zones, and links to zones.
  private static func names(in folder: String) throws -> [String] {
    try String(contentsOfFile: "\(folder)/tzdata.zi", encoding: .utf8).split(separator: "\n").compactMap { line in
      let words = line.split(separator: " ")
      return words[0] == "Z" ? String(words[1]) : words[0] == "L" ? String(words[2]) : nil
    }
  }

  /// The output of `zdump`.
  private static func zdump(_ option: String, _ names: [String], in folder: String) throws -> [Substring] {
    let path = FileManager.default.temporaryDirectory.appending(path: "stillwire-zdump-\(UUID().uuidString)").path
    defer { try? FileManager.default.removeItem(atPath: path) }
    _ = FileManager.default.createFile(atPath: path, contents: nil)
    let output = try #require(FileHandle(forWritingAtPath: path))
    // The years before give the offset at the begin. zdump examines each half day.
    let zdump = try ChildProcess(
      ["zdump", option, "-c", "2000,2028"] + names.map { "\(folder)/\($0)" }, output: output)
    #expect(zdump.wait())
    try output.close()
    return try String(contentsOfFile: path, encoding: .utf8).split(separator: "\n")
  }

  /// The transitions and the second before each.
  private static func dumps(of names: [String], in folder: String) throws -> [String: Dump] {
    let months = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"]
    var dumps: [String: Dump] = [:]
    // /zone  Sun Mar 29 00:59:59 2026 UT = Sun Mar 29 01:59:59 2026 CET isdst=0 gmtoff=3600
    for line in try zdump("-v", names, in: folder) {
      let words = line.split(separator: " ")
      guard words.count == 16, words[6] == "UT" else { continue }
      let month = try #require(months.firstIndex(of: String(words[2]))) + 1
      let iso = "\(words[5])-\(month < 10 ? "0" : "")\(month)-\(words[3].count < 2 ? "0" : "")\(words[3])T\(words[4])Z"
      let second = Int64(try Date(iso, strategy: .iso8601).timeIntervalSince1970)
      let offset = try #require(Int64(words[15].dropFirst("gmtoff=".count)))
      dumps[String(words[0].dropFirst(folder.count + 1)), default: Dump()].steps.append((second, offset))
    }
    // The other zones have no transition.
    var name = ""
    for line in try zdump("-i", names.filter { dumps[$0] == nil }, in: folder) {
      if line.hasPrefix("TZ=") { name = String(line.dropFirst("TZ=\"\(folder)/".count).dropLast()) }
      // The offset is `+01` or `-0330`.
      guard line.hasPrefix("-\t-\t"), let offset = Int64(line.split(separator: "\t")[2]) else { continue }
      let (hours, minutes) = abs(offset) < 100 ? (offset, 0) : offset.quotientAndRemainder(dividingBy: 100)
      dumps[name] = Dump(steps: [(Int64.min, hours * 3600 + minutes * 60)])
    }
    return dumps
  }

  private static let begin: Int64 = 1_767_225_600  // 2026-01-01
  private static let end: Int64 = 1_830_297_600  // 2028-01-01

  @Test(arguments: folders)
  func `each transition, the second before it, and each full hour equal zdump`(folder: String) throws {
    let names = try Self.names(in: folder)
    #expect(names.count > 500)
    let dumps = try Self.dumps(of: names, in: folder)
    var checked: [[UInt8]: Dump] = [:]
    var (transitions, hours) = (0, 0)
    for name in names {
      let bytes = [UInt8](try Data(contentsOf: URL(filePath: "\(folder)/\(name)")))
      let zone = try ZoneFile(bytes)
      let dump = try #require(dumps[name], "\(name)")
      // A link is an equal file, and has the same dump.
      if let known = checked[bytes] {
        #expect(known.steps.elementsEqual(dump.steps, by: ==), "\(name)")
        continue
      }
      checked[bytes] = dump
      for step in dump.steps where Self.begin <= step.second && step.second < Self.end {
        transitions += 1
        if zone.offset(at: step.second) != step.offset { Issue.record("\(name) at \(step.second)") }
      }
      var offset = try #require(dump.steps.last { $0.second <= Self.begin }, "\(name)").offset
      var steps = dump.steps.filter { Self.begin < $0.second }[...]
      var wrong = 0
      for second in stride(from: Self.begin, to: Self.end, by: 3600) {
        while let next = steps.first, next.second <= second {
          offset = next.offset
          steps = steps.dropFirst()
        }
        if zone.offset(at: second) != offset { wrong += 1 }
        hours += 1
      }
      #expect(wrong == 0, "\(name): \(wrong) hours")
    }
    print("\(folder): \(names.count) names, \(checked.count) files, \(transitions) transitions, \(hours) hours")
    #expect(transitions > 400 && hours > 5_000_000)
  }
}
