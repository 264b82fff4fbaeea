// SPDX-License-Identifier: Apache-2.0
import Dispatch
import Foundation
import Synchronization

/// The destination of log lines, written by a thread of its own.
///
/// A descriptor that nobody reads blocks its writer, and the hub's thread logs. So ``write(_:)`` only queues the line. At
/// the capacity it drops the line, and the number of dropped lines follows once there is space again. Any thread.
public final class LogOutput: TextOutputStream, Sendable {
  /// Standard error. At its end, the process takes up to a second to write the queued lines.
  public static let standardError: LogOutput = {
    let output = LogOutput(descriptor: STDERR_FILENO)
    atexit { LogOutput.standardError.flush(within: .seconds(1)) }
    return output
  }()

  private struct Queue {
    var text: [UInt8] = []
    var dropped = 0
    /// The thread writes, or a signal for it is under way.
    var isWriting = false

    /// Takes everything that is queued. Returns `nil`, and ends the writing, if there is nothing.
    mutating func take() -> [UInt8]? {
      guard !text.isEmpty || dropped > 0 else {
        isWriting = false
        return nil
      }
      var batch = text
      if dropped > 0 { batch += "\(dropped) log lines were dropped: the log was not read in time\n".utf8 }
      text = []
      dropped = 0
      return batch
    }
  }

  private let descriptor: Int32
  private let capacity: Int
  private let queue = Mutex(Queue())
  private let filled = DispatchSemaphore(value: 0)

  /// - Parameters:
  ///   - descriptor: A descriptor that stays open.
  ///   - capacity: The bytes that may wait.
  public init(descriptor: Int32, capacity: Int = 1 << 20) {
    self.descriptor = descriptor
    self.capacity = capacity
    let thread = Thread { [self] in
      Thread.current.name = "stillwire log"
      // A pipe without a reader is an error of the write then, not the end of the process.
      var broken = sigset_t()
      sigemptyset(&broken)
      sigaddset(&broken, SIGPIPE)
      pthread_sigmask(SIG_BLOCK, &broken, nil)
      while true {
        filled.wait()
        while let batch = queue.withLock({ $0.take() }) { writeAll(batch) }
      }
    }
    thread.start()
  }

  /// Queues a line and returns at once.
  public func write(_ line: String) {
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

  /// Waits until everything queued is written, or until the time is over.
  public func flush(within time: Duration) {
    let end = ContinuousClock.now + time
    while queue.withLock(\.isWriting), ContinuousClock.now < end { usleep(1000) }
  }

  private func writeAll(_ batch: [UInt8]) {
    var rest = batch[...]
    while !rest.isEmpty {
      // Read at once: what runs after the call may change errno.
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
        return
      }
    }
  }
}
