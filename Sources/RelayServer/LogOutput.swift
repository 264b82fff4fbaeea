// SPDX-License-Identifier: Apache-2.0
import Dispatch
import Foundation
import Synchronization

/// The destination of log lines. A separate thread writes them.
///
/// If nobody reads a descriptor, a write to it blocks, and the hub's thread must not block. So ``write(_:)`` only
/// queues the line, and drops it if the queue is full. Lines that the system cannot write, for example on a full disk,
/// are dropped, too. The number of dropped lines is written as soon as a write succeeds. Any thread.
public final class LogOutput: TextOutputStream, Sendable {
  /// Standard error. At the end of the process, writing the queued lines may take up to a second.
  public static let standardError: LogOutput = {
    let output = LogOutput(descriptor: STDERR_FILENO)
    atexit { LogOutput.standardError.flush(within: .seconds(1)) }
    return output
  }()

  private struct Queue {
    var text: [UInt8] = []
    var dropped = 0
    /// True while the thread writes, or has a signal to begin.
    var isWriting = false

    /// Takes all queued lines. Returns `nil` and clears ``isWriting`` if the queue is empty.
    mutating func take() -> (text: [UInt8], dropped: Int)? {
      guard !text.isEmpty || dropped > 0 else {
        isWriting = false
        return nil
      }
      defer { (text, dropped) = ([], 0) }
      return (text, dropped)
    }

    /// Counts lines that could not be written. If no other lines are queued, returns false and clears ``isWriting``:
    /// the next line starts another attempt.
    mutating func giveBack(_ lines: Int) -> Bool {
      dropped += lines
      isWriting = !text.isEmpty
      return isWriting
    }
  }

  private let descriptor: Int32
  private let capacity: Int
  private let queue = Mutex(Queue())
  private let filled = DispatchSemaphore(value: 0)

  /// - Parameters:
  ///   - descriptor: A descriptor that remains open.
  ///   - capacity: The maximum size of the queue in bytes.
  public init(descriptor: Int32, capacity: Int = 1 << 20) {
    self.descriptor = descriptor
    self.capacity = capacity
    let thread = Thread { [self] in
      Thread.current.name = "stillwire log"
      // With SIGPIPE blocked, a write to a pipe without a reader returns an error and does not end the process.
      var broken = sigset_t()
      sigemptyset(&broken)
      sigaddset(&broken, SIGPIPE)
      pthread_sigmask(SIG_BLOCK, &broken, nil)
      while true {
        filled.wait()
        while let batch = queue.withLock({ $0.take() }) {
          let lost = write(batch.text, dropped: batch.dropped)
          if lost > 0, !queue.withLock({ $0.giveBack(lost) }) { break }
        }
      }
    }
    thread.start()
  }

  /// Queues a line and returns immediately. Control characters within the line become `?`, so that text from a client
  /// cannot start a new line or control a terminal.
  public func write(_ line: String) {
    let line = Self.isPlain(line) ? line : Self.plain(line)
    let isFirst = queue.withLock { queue in
      if queue.text.count + line.utf8.count <= capacity {
        queue.text += line.utf8
      } else {
        queue.dropped += 1
      }
      defer { queue.isWriting = true }
      return !queue.isWriting
    }
    if isFirst { filled.signal() }
  }

  /// Waits until all queued lines are written. `time` is the timeout.
  public func flush(within time: Duration) {
    let end = ContinuousClock.now + time
    while queue.withLock(\.isWriting), ContinuousClock.now < end { usleep(1000) }
  }

  private static func isControl(_ scalar: Unicode.Scalar) -> Bool {
    switch scalar.properties.generalCategory {
    case .control, .lineSeparator, .paragraphSeparator: true
    default: false
    }
  }

  private static func isPlain(_ line: String) -> Bool {
    let text = line.last == "\n" ? line.dropLast() : line[...]
    return text.utf8.allSatisfy { (0x20..<0x7F).contains($0) } || !text.unicodeScalars.contains(where: isControl)
  }

  private static func plain(_ line: String) -> String {
    var text = String.UnicodeScalarView()
    for scalar in line.unicodeScalars { text.append(isControl(scalar) ? "?" : scalar) }
    if line.unicodeScalars.last == "\n" {
      text.removeLast()
      text.append("\n")
    }
    return String(text)
  }

  /// Writes a batch, and after it the number of dropped lines.
  /// - Returns: The number of lost lines that no notice has reported yet.
  private func write(_ batch: [UInt8], dropped: Int) -> Int {
    let rest = writeAll(batch[...])
    let lost = dropped + rest.count { $0 == UInt8(ascii: "\n") }
    guard lost > 0 else { return 0 }
    // The last written line may be incomplete.
    let isCut = rest.startIndex > batch.startIndex && !rest.isEmpty && batch[rest.startIndex - 1] != UInt8(ascii: "\n")
    let notice = "\(isCut ? "\n" : "")\(lost) log lines were dropped: they could not be written in time\n"
    return writeAll(Array(notice.utf8)[...]).isEmpty ? 0 : lost
  }

  /// - Returns: The bytes that could not be written.
  private func writeAll(_ batch: ArraySlice<UInt8>) -> ArraySlice<UInt8> {
    var rest = batch
    while !rest.isEmpty {
      // Reads errno immediately, because later calls may change it.
      let (count, fault) = rest.withUnsafeBytes {
        let count = Foundation.write(descriptor, $0.baseAddress, $0.count)
        return (count, errno)
      }
      if count > 0 {
        rest = rest.dropFirst(count)
      } else if fault == EAGAIN {
        var space = pollfd(fd: descriptor, events: Int16(POLLOUT), revents: 0)
        poll(&space, 1, -1)
      } else if fault != EINTR {
        return rest
      }
    }
    return rest
  }
}
