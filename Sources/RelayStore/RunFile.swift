// SPDX-License-Identifier: Apache-2.0
import Dispatch
import Foundation
import Synchronization

/// Writes the ``RunRecord`` of this run. Each write is atomic.
///
/// Any thread. `writeSoon` uses a queue of its own, so that the writer's thread does not wait for the disk.
final class RunFile: Sendable {
  private let path: String
  private let queue = DispatchQueue(label: "stillwire.run")
  /// The newest record that is not written yet.
  private let pending = Mutex<RunRecord?>(nil)

  init(folder: String) { path = folder + "/" + RunRecord.name }

  /// The record of the newest run. Is `nil` when the file does not exist or cannot be read.
  func read() -> RunRecord? {
    (try? String(contentsOfFile: path, encoding: .utf8)).flatMap(RunRecord.init(_:))
  }

  /// Writes a record, and returns when it is on disk. Throws ``StoreError/unusable(path:reason:)``.
  func write(_ record: RunRecord) throws(StoreError) {
    let error = queue.sync { () -> StoreError? in
      pending.withLock { $0 = nil }
      return replace(record)
    }
    if let error { throw error }
  }

  /// Writes a record asynchronously. An error is ignored, because the next record follows within a second of use.
  func writeSoon(_ record: RunRecord) {
    let isFirst = pending.withLock { pending in
      defer { pending = record }
      return pending == nil
    }
    guard isFirst else { return }
    queue.async { [self] in
      let record = pending.withLock { pending in
        defer { pending = nil }
        return pending
      }
      if let record { _ = replace(record) }
    }
  }

  /// Writes a new file and renames it over the old one, so that a crash leaves one of them complete.
  private func replace(_ record: RunRecord) -> StoreError? {
    let new = path + ".new"
    let descriptor = open(new, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0o600)
    guard descriptor >= 0 else { return failure() }
    defer { _ = close(descriptor) }
    do {
      try FileHandle(fileDescriptor: descriptor, closeOnDealloc: false).write(contentsOf: Data(record.text.utf8))
    } catch {
      return .unusable(path: path, reason: Disk.reason(at: path, else: "it cannot be written"))
    }
    guard fsync(descriptor) == 0 else { return failure() }
    guard rename(new, path) == 0 else { return failure() }
    // The new name is durable only after the folder is synchronized.
    let folder = open((path as NSString).deletingLastPathComponent, O_RDONLY | O_CLOEXEC)
    if folder >= 0 {
      _ = fsync(folder)
      _ = close(folder)
    }
    return nil
  }

  private func failure() -> StoreError { .unusable(path: path, reason: Disk.reason(at: path, code: errno)) }
}
