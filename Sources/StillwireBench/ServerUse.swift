// SPDX-License-Identifier: Apache-2.0
import Foundation

/// The processor time, memory and writes of a process, from /proc.
struct ServerUse {
  /// The processor time of all threads in seconds, with a resolution of 10 ms.
  let processor: Double
  /// The resident memory in bytes.
  let memory: Double
  /// The writes to files, pipes and other descriptors, without those of send(). Are `nil` if they cannot be read.
  let writes: Writes?

  struct Writes {
    let calls, bytes, diskBytes: Double
  }

  /// Returns `nil` if the process does not exist or cannot be read.
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
    writes = Writes(of: pid)
  }

  /// The processor time of this process in seconds.
  static var own: Double {
    var use = rusage()
    getrusage(__rusage_who_t(RUSAGE_SELF.rawValue), &use)
    func seconds(_ time: timeval) -> Double { Double(time.tv_sec) + Double(time.tv_usec) / 1e6 }
    return seconds(use.ru_utime) + seconds(use.ru_stime)
  }

  /// Returns the process that listens on a port of this machine, or `nil` if this process may not see it.
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

  /// Returns the inodes of the sockets that listen on a port. The columns are described in proc(5).
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

  /// Reads a file of /proc to its end. Its size is 0, so that Foundation would read only the first page.
  fileprivate static func text(_ path: String) -> String? {
    let bytes = try? FileHandle(forReadingAtPath: path)?.readToEnd()
    return bytes.map { String(decoding: $0, as: UTF8.self) }
  }
}

extension ServerUse.Writes {
  fileprivate init?(of pid: Int32) {
    guard let text = ServerUse.text("/proc/\(pid)/io") else { return nil }
    var values: [Substring: Double] = [:]
    for line in text.split(separator: "\n") {
      let words = line.split(separator: " ")
      if words.count == 2 { values[words[0]] = Double(words[1]) }
    }
    guard let calls = values["syscw:"], let bytes = values["wchar:"], let diskBytes = values["write_bytes:"] else {
      return nil
    }
    self.init(calls: calls, bytes: bytes, diskBytes: diskBytes)
  }
}
