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

  /// The time of the first access to this constant, in seconds since 1970.
  static let start = Date().timeIntervalSince1970

  /// Reads the current values. This reads files, so it must not run on the hub's thread.
  @concurrent static func current() async -> ProcessFacts {
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
