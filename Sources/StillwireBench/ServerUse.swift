// SPDX-License-Identifier: Apache-2.0
import Foundation

/// What a process has used of the machine, from /proc.
struct ServerUse {
  /// Seconds of all threads, to a hundredth.
  let processor: Double
  /// Bytes in memory.
  let memory: Double

  /// Nil when there is no such process or it cannot be read.
  init?(of pid: Int32) {
    guard let stat = Self.text("/proc/\(pid)/stat"), let memory = Self.text("/proc/\(pid)/statm"),
      // The second field is the name, which may contain anything.
      let name = stat.lastIndex(of: ")")
    else { return nil }
    let fields = stat[stat.index(after: name)...].split(separator: " ")
    let pages = memory.split(separator: " ")
    guard fields.count > 12, pages.count > 1, let user = Double(fields[11]), let system = Double(fields[12]),
      let resident = Double(pages[1])
    else { return nil }
    processor = (user + system) / Double(sysconf(Int32(_SC_CLK_TCK)))
    self.memory = resident * Double(sysconf(Int32(_SC_PAGESIZE)))
  }

  /// What this process has used, in seconds.
  static var own: Double {
    var use = rusage()
    getrusage(__rusage_who_t(RUSAGE_SELF.rawValue), &use)
    func seconds(_ time: timeval) -> Double { Double(time.tv_sec) + Double(time.tv_usec) / 1e6 }
    return seconds(use.ru_utime) + seconds(use.ru_stime)
  }

  /// The process that listens on a port of this machine; nil when it is none of ours to see.
  static func listener(on port: UInt16) -> Int32? {
    let sockets = Set((listening("/proc/net/tcp", port) + listening("/proc/net/tcp6", port)).map { "socket:[\($0)]" })
    guard !sockets.isEmpty, let processes = try? FileManager.default.contentsOfDirectory(atPath: "/proc") else {
      return nil
    }
    for process in processes {
      guard let pid = Int32(process), let open = try? FileManager.default.contentsOfDirectory(atPath: "/proc/\(pid)/fd")
      else { continue }
      for descriptor in open {
        let path = "/proc/\(pid)/fd/\(descriptor)"
        guard let target = try? FileManager.default.destinationOfSymbolicLink(atPath: path) else { continue }
        if sockets.contains(target) { return pid }
      }
    }
    return nil
  }

  /// The inodes of the sockets that listen on a port; see proc(5) for the columns.
  private static func listening(_ table: String, _ port: UInt16) -> [Substring] {
    guard let text = text(table) else { return [] }
    return text.split(separator: "\n").dropFirst().compactMap { line in
      let fields = line.split(separator: " ")
      guard fields.count > 9, fields[3] == "0A", let local = fields[1].split(separator: ":").last,
        UInt16(local, radix: 16) == port
      else { return nil }
      return fields[9]
    }
  }

  /// Files of /proc say that they are empty, so that Foundation would read but their first page.
  private static func text(_ path: String) -> String? {
    let bytes = try? FileHandle(forReadingAtPath: path)?.readToEnd()
    return bytes.map { String(decoding: $0, as: UTF8.self) }
  }
}
