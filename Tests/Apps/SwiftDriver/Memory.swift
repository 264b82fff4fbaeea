// SPDX-License-Identifier: Apache-2.0
// Measures the memory of the process, for the fault test of Tests/Conformance.

#if canImport(Glibc)
  import Glibc

  /// The resident memory of the process in bytes. Returns freed memory to the system first.
  func bytesInUse() -> Int {
    // Swift's module of the C library does not include <malloc.h>.
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

  /// The allocated memory in bytes.
  func bytesInUse() -> Int { Int(mstats().bytes_used) }
#endif
