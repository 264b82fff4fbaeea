// SPDX-License-Identifier: Apache-2.0
import CoreFoundation
import Foundation

/// The resources that this process uses, for the metrics. Values from `/proc` are `nil` on systems without it.
struct ProcessFacts: Sendable {
  /// The processor time, user and system, in seconds.
  let processorTime: Double
  let residentBytes: Int?
  let openDescriptors: Int?
  let maxDescriptors: Int

  /// The time at which the process began, in seconds since 1970. On systems without `/proc`, the time of the first
  /// access to this constant.
  static let start = startFromSystem ?? Date().timeIntervalSince1970

  private static var startFromSystem: Double? {
    guard let process = text("/proc/self/stat"), let system = text("/proc/stat") else { return nil }
    return start(process: process, system: system, ticksPerSecond: sysconf(Int32(_SC_CLK_TCK)))
  }

  /// Reads a file of `/proc` to its end. Its size is 0, so `String(contentsOfFile:)` would read only the first page.
  private static func text(_ path: String) -> String? {
    let bytes = try? FileHandle(forReadingAtPath: path)?.readToEnd()
    return bytes.map { String(decoding: $0, as: UTF8.self) }
  }

  /// Returns the start of a process, in seconds since 1970. Is `nil` if one of the texts does not contain it.
  /// - Parameters:
  ///   - process: The text of `/proc/<pid>/stat`. Its field 22 has the ticks from the boot to the start.
  ///   - system: The text of `/proc/stat`. Its line `btime` has the time of the boot.
  static func start(process: String, system: String, ticksPerSecond: Int) -> Double? {
    // Field 2 is the name of the program in parentheses. It may contain spaces and parentheses.
    guard let nameEnd = process.lastIndex(of: ")") else { return nil }
    let fields = process[nameEnd...].split(separator: " ")
    let line = system.split(separator: "\n").first { $0.hasPrefix("btime ") }
    guard fields.count > 20, let ticks = Double(fields[20]), let line, let boot = Double(line.dropFirst(6)), boot > 0
    else { return nil }
    return boot + ticks / Double(ticksPerSecond)
  }

  /// Reads the current values on another thread than the hub's.
  @concurrent static func current() async -> ProcessFacts { read() }

  /// Reads the current values. This reads files, so it must not run on the hub's thread while the hub serves clients.
  static func read() -> ProcessFacts {
    var usage = rusage()
    getrusage(Self.own, &usage)
    func seconds(_ time: timeval) -> Double { Double(time.tv_sec) + Double(time.tv_usec) / 1_000_000 }
    let memory = try? String(contentsOfFile: "/proc/self/statm", encoding: .utf8).split(separator: " ")
    var limit = rlimit()
    getrlimit(Self.descriptors, &limit)
    return ProcessFacts(
      processorTime: seconds(usage.ru_utime) + seconds(usage.ru_stime),
      residentBytes: memory.flatMap { $0.count > 1 ? Int($0[1]) : nil }.map { $0 * sysconf(Int32(_SC_PAGESIZE)) },
      // One descriptor is that of the folder itself, which is open during the call.
      openDescriptors: (try? FileManager.default.contentsOfDirectory(atPath: "/proc/self/fd")).map { $0.count - 1 },
      maxDescriptors: Int(clamping: limit.rlim_cur))
  }

  #if os(Linux)
    private static let own = RUSAGE_SELF.rawValue
    private static let descriptors = __rlimit_resource_t(RLIMIT_NOFILE.rawValue)
  #else
    private static let own = RUSAGE_SELF
    private static let descriptors = RLIMIT_NOFILE
  #endif
}
