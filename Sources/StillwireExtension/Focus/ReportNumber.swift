// SPDX-License-Identifier: Apache-2.0
public import Foundation

/// The counter that orders a device's reports. It is stored in a file that the app and its extensions share.
///
/// The relay ignores a report if its number is not above the last one, so no number may be used twice. A lock protects
/// the file. If the file is missing or invalid, the clock makes the numbers increase.
public struct ReportNumber: Sendable {
  public let file: URL
  private let now: @Sendable () -> Date

  /// - Parameter file: A file in the container of the app group. Its folder must exist.
  public init(file: URL) { self.init(file: file, now: { Date() }) }

  init(file: URL, now: @escaping @Sendable () -> Date) {
    self.file = file
    self.now = now
  }

  /// Returns a number above all earlier ones. Throws `CocoaError` or `POSIXError` if the file cannot be used. Waits
  /// while another process holds the lock of the file.
  public func next() throws -> Int64 { try next(above: 0) { flock($0, LOCK_EX) == 0 } }

  /// - Parameter lock: Locks the file with this descriptor. Returns false and sets `errno` if it fails.
  private func next(above stored: Int64, _ lock: (Int32) -> Bool) throws -> Int64 {
    // O_NOFOLLOW is not needed: only the app and its extensions can write to the app group's container.
    let descriptor = open(file.path, O_RDWR | O_CREAT | O_CLOEXEC, 0o600)
    guard descriptor >= 0 else { throw POSIXError(POSIXErrorCode(rawValue: errno) ?? .EIO) }
    let handle = FileHandle(fileDescriptor: descriptor, closeOnDealloc: true)
    // The lock ends when the descriptor is closed, also by a crash.
    guard lock(descriptor) else { throw POSIXError(POSIXErrorCode(rawValue: errno) ?? .EIO) }
    let text = try handle.read(upToCount: 32).map { String(decoding: $0, as: UTF8.self) }
    let last = text.flatMap(Int64.init).flatMap { (0..<Self.maxNumber).contains($0) ? $0 : nil } ?? 0
    let number = min(max(last + 1, stored + 1, time), Self.maxNumber)
    try handle.truncate(atOffset: 0)
    try handle.write(contentsOf: Data(String(number).utf8))
    try handle.close()
    return number
  }

  /// Returns ``next()``, or the time in milliseconds since 1970 if the file cannot be used, or if another process holds
  /// its lock for half a second.
  ///
  /// The system locks the file before the first unlock. A report with the time as its number is better than no report:
  /// the numbers in the file also follow the clock, so that the relay still keeps the newest report.
  /// - Parameter stored: A number that the relay has, which the new one must exceed.
  func nextOrTime(above stored: Int64 = 0) -> Int64 {
    let stored = min(stored, Self.maxNumber - 1)
    let number = try? next(above: stored) { descriptor in
      for _ in 0..<50 {
        if flock(descriptor, LOCK_EX | LOCK_NB) == 0 { return true }
        guard errno == EWOULDBLOCK || errno == EINTR else { return false }
        usleep(10_000)
      }
      return false
    }
    return number ?? min(max(stored + 1, time), Self.maxNumber)
  }

  /// Milliseconds since 1970.
  private var time: Int64 { Int64(now().timeIntervalSince1970 * 1_000) }

  /// The maximum number that the relay accepts.
  static let maxNumber: Int64 = 1 << 53 - 1
}
