// SPDX-License-Identifier: Apache-2.0
import Foundation
import Synchronization

/// Replaces the program of this process by a new run of itself, with the same id, arguments and environment.
///
/// A node that leads no more starts again in this way, so that no state of the leader survives. Nothing is flushed: the
/// log has everything that was acknowledged. The new run gets only a mark.
enum ProcessReplacement {
  /// The end of the leadership of the old run.
  enum Mark: String {
    case led
    /// It led with a damaged database, which a snapshot must replace.
    case ledDamaged
  }

  private static let hasBegun = Mutex(false)
  /// The variable for the new run. Its value begins with the id of the process, so that no other process can inherit it.
  private static let variable = "STILLWIRE_HAS_LED"

  /// Returns the mark if this run replaces one that led. Removes the variable: call this once, at the start.
  static func takeMark() -> Mark? {
    defer { unsetenv(variable) }
    guard let words = getenv(variable).map({ String(cString: $0).split(separator: " ") }), words.count == 2,
      words[0] == "\(getpid())"
    else { return nil }
    return Mark(rawValue: String(words[1]))
  }

  /// Does not return, except if another thread has called it already or the system refuses.
  static func begin(_ mark: Mark?) {
    guard
      hasBegun.withLock({ begun in
        defer { begun = true }
        return !begun
      })
    else { return }
    closeDescriptors()
    // The new program inherits the blocked signals of this thread.
    var none = sigset_t()
    sigemptyset(&none)
    pthread_sigmask(SIG_SETMASK, &none, nil)
    if let mark { setenv(variable, "\(getpid()) \(mark.rawValue)", 1) }
    execv("/proc/self/exe", CommandLine.unsafeArgv)
    _exit(75)
  }

  /// Returns false if the system is older than `close_range(2)`.
  private static func markAll() -> Bool {
    typealias CloseRange = @convention(c) (_ first: UInt32, _ last: UInt32, _ flags: Int32) -> Int32
    let closeOnExec: Int32 = 4  // CLOSE_RANGE_CLOEXEC
    guard let function = dlsym(nil, "close_range") else { return false }
    return unsafeBitCast(function, to: CloseRange.self)(3, .max, closeOnExec) == 0
  }

  /// Marks all files and sockets, except the three standard ones, so that the new program does not inherit them.
  private static func closeDescriptors() {
    // Another thread may open a file during the scan below. The kernel marks all of them at one moment.
    if markAll() { return }
    let names = (try? FileManager.default.contentsOfDirectory(atPath: "/proc/self/fd")) ?? []
    for descriptor in names.compactMap({ Int32($0) }) where descriptor > 2 {
      _ = fcntl(descriptor, F_SETFD, FD_CLOEXEC)
    }
  }
}
