// SPDX-License-Identifier: Apache-2.0

#if canImport(Glibc)
  import Glibc

  /// What the process has in memory, but for what was freed: that is given back first.
  func bytesInUse() -> Int {
    // The module of the C library lacks <malloc.h>.
    if let symbol = dlsym(nil, "malloc_trim") {
      _ = unsafeBitCast(symbol, to: (@convention(c) (Int) -> Int32).self)(0)
    }
    guard let file = fopen("/proc/self/statm", "r") else { return 0 }
    defer { fclose(file) }
    var line = [CChar](repeating: 0, count: 128)
    guard fgets(&line, Int32(line.count), file) != nil else { return 0 }
    let fields = String(decoding: line.prefix { $0 != 0 }.map(UInt8.init), as: UTF8.self).split(separator: " ")
    return (fields.count > 1 ? Int(fields[1]) ?? 0 : 0) * sysconf(Int32(_SC_PAGESIZE))
  }
#else
  import Darwin

  /// What is allocated and not freed.
  func bytesInUse() -> Int { Int(mstats().bytes_used) }
#endif
