// SPDX-License-Identifier: Apache-2.0
public import Foundation
import Synchronization

/// A program that a test runs.
///
/// `Process` of Foundation may crash on Linux in a process with about 1,000 open files: it reads beyond a buffer with
/// their names. Swift 6.3.1 has this fault (swift-corelibs-foundation, pull request 5472).
public final class ChildProcess: Sendable {
  public struct Failure: Error, CustomStringConvertible {
    public let description: String
  }

  public let pid: pid_t
  /// The wait status, after the end.
  private let end = Mutex<Int32?>(nil)

  /// Starts a program. Its input is empty.
  /// - Parameters:
  ///   - arguments: The name or the path of the program, and its arguments.
  ///   - output: The file for the output and the errors. Without it, both go to `/dev/null`.
  public init(_ arguments: [String], output: FileHandle? = nil) throws {
    var actions = posix_spawn_file_actions_t()
    posix_spawn_file_actions_init(&actions)
    defer { posix_spawn_file_actions_destroy(&actions) }
    posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0)
    for file in [STDOUT_FILENO, STDERR_FILENO] {
      if let output {
        posix_spawn_file_actions_adddup2(&actions, output.fileDescriptor, file)
      } else {
        posix_spawn_file_actions_addopen(&actions, file, "/dev/null", O_WRONLY, 0)
      }
    }
    for file in try Self.openFiles where file > STDERR_FILENO { posix_spawn_file_actions_addclose(&actions, file) }
    let texts = arguments.map { strdup($0) } + [nil]
    defer { texts.forEach { free($0) } }
    var pid: pid_t = 0
    let error = posix_spawnp(&pid, arguments[0], &actions, nil, texts, environ)
    guard error == 0 else { throw Failure(description: "\(arguments[0]): \(String(cString: strerror(error)))") }
    self.pid = pid
  }

  /// The descriptors of this process. Sockets of other tests must not stay open in the program.
  private static var openFiles: [Int32] {
    get throws { try FileManager.default.contentsOfDirectory(atPath: "/proc/self/fd").compactMap { Int32($0) } }
  }

  public var isRunning: Bool { reap(WNOHANG) == nil }

  /// Waits for the end.
  /// - Returns: True if the program returned 0.
  @discardableResult public func wait() -> Bool { reap(0) == 0 }

  /// Sends a signal, unless the program has ended.
  public func signal(_ number: Int32) { if isRunning { kill(pid, number) } }

  private func reap(_ options: Int32) -> Int32? {
    end.withLock { end in
      var status: Int32 = 0
      if end == nil, waitpid(pid, &status, options) == pid { end = status }
      return end
    }
  }

  /// Runs a program to its end, on a thread of its own. The few threads for tasks stay free for other tests.
  /// - Returns: True if it returned 0, and all that it has printed.
  public static func run(_ arguments: [String]) async throws -> (hasSucceeded: Bool, output: String) {
    try await withCheckedThrowingContinuation { continuation in
      Thread.detachNewThread { continuation.resume(with: Result { try runBlocking(arguments) }) }
    }
  }

  private static func runBlocking(_ arguments: [String]) throws -> (hasSucceeded: Bool, output: String) {
    let pipe = Pipe()
    let process = try ChildProcess(arguments, output: pipe.fileHandleForWriting)
    try pipe.fileHandleForWriting.close()
    let output = try pipe.fileHandleForReading.readToEnd() ?? Data()
    return (process.wait(), String(decoding: output, as: UTF8.self))
  }
}
