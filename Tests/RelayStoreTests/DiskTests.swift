// SPDX-License-Identifier: Apache-2.0
import Foundation
import GRDB
import Testing

@testable import RelayStore

/// The errors of a start on a full disk.
@Suite struct DiskTests {
  @Test(
    arguments: [
      (0, 5, "it has 0 free bytes"), (Disk.minFree - 1, nil, "it has 131071 free bytes"),
      (1 << 40, 0, "it accepts no more files"), (0, 0, "it accepts no more files"),
    ] as [(UInt64, UInt64?, String)])
  func `a full disk is named by its mount point`(bytes: UInt64, files: UInt64?, words: String) {
    let disk = Disk(mountPoint: "/data", freeBytes: bytes, freeFiles: files)
    #expect(disk.isFull)
    #expect(disk.reason == "the disk that is mounted at /data is full: \(words)")
  }

  @Test(arguments: [(Disk.minFree, 1), (Disk.minFree, nil), (1 << 40, 1_000)] as [(UInt64, UInt64?)])
  func `a disk with space is not full`(bytes: UInt64, files: UInt64?) {
    #expect(!Disk(mountPoint: "/data", freeBytes: bytes, freeFiles: files).isFull)
  }

  @Test(
    arguments: [
      (0, 5, 1, "is full: it has 0 free bytes"), (1 << 40, 0, 1, "it accepts no more files"),
      (1 << 20, 5, 1 << 20, "has 1048576 free bytes, and the copy needs 1048576"),
      ((1 << 20) + Disk.minFree - 1, nil, 1 << 20, "and the copy needs 1048576"),
      ((1 << 20) + Disk.minFree, nil, 1 << 20, nil), (1 << 40, 1, 1 << 39, nil),
    ] as [(UInt64, UInt64?, UInt64, String?)])
  func `a disk accepts a file that leaves it some space`(bytes: UInt64, files: UInt64?, size: UInt64, words: String?) {
    let obstacle = Disk(mountPoint: "/data", freeBytes: bytes, freeFiles: files).obstacle(to: size)
    #expect((obstacle == nil) == (words == nil))
    if let words { #expect(obstacle?.hasSuffix(words) == true) }
  }

  @Test(arguments: ["/proc/self", "/proc/self/none/deeper", "/proc"])
  func `the mount point is found for a path that need not exist`(path: String) throws {
    #expect(try #require(Disk(of: path)).mountPoint == "/proc")
    #expect(Disk(of: "/none/deeper")?.mountPoint == "/")
    #expect(Disk(of: "none/deeper") != nil)
  }

  @Test func `the reason depends on the error`() throws {
    let path = try #require(["/tmp", "/"].first { Disk(of: $0)?.isFull == false })
    func reason(_ code: ResultCode) -> String {
      Disk.reason(at: path, DatabaseError(resultCode: code, message: "words"))
    }
    // SQLite has said that the disk is full, also if it has some space by now.
    #expect(reason(.SQLITE_FULL).hasPrefix("the disk that is mounted at "))
    for code in [.SQLITE_IOERR, .SQLITE_CANTOPEN, .SQLITE_BUSY] as [ResultCode] { #expect(reason(code) == "words") }
    for code in [ENOSPC, EDQUOT] {
      #expect(Disk.reason(at: path, code: code).hasPrefix("the disk that is mounted at "))
    }
    #expect(Disk.reason(at: path, code: EACCES) == "Permission denied")
  }
}
