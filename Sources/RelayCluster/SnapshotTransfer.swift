// SPDX-License-Identifier: Apache-2.0
import Foundation
import Synchronization

/// The reason why a snapshot cannot replace a node's file.
public enum SnapshotFault: Error, Hashable, Sendable {
  case wrongSize(UInt64)
  case missingChunk(Int)
  case wrongHash
  /// The position in the copy is not that of the manifest, or the log does not continue from it.
  case wrongPosition(LogPosition?)
  case unreadable(reason: String)
  /// A newer version of the program has made the copy.
  case newerSchema
}

extension SnapshotFault: CustomStringConvertible {
  public var description: String {
    switch self {
    case .wrongSize(let size): "it has \(size) bytes, which is not the size in its manifest"
    case .missingChunk(let number): "its chunk \(number) is missing"
    case .wrongHash: "its SHA-256 is not the one in its manifest"
    case .wrongPosition(let position?): "it ends at \(position), and the log does not continue from there"
    case .wrongPosition(nil): "it has no position"
    case .unreadable(let reason): reason
    case .newerSchema: "a newer version has made it"
    }
  }
}

/// Copies files to and from the store of snapshots. Blocks its caller. Any thread. One transfer runs at a time.
public struct SnapshotTransfer: Sendable {
  let node: Leader
  let log: any ClusterLog
  let folder: any ReplicaFolder
  let clock: any NodeClock
  let digest: @Sendable () -> any CopyDigest
  private let turn = Turn()

  /// The right to copy or replace the file, which one thread has at a time.
  private final class Turn: Sendable {
    struct State {
      var isTaken = false
      /// Copies of this process that were not published, and may still be in the store.
      var leftovers: Set<String> = []
    }

    let state = Mutex(State())

    func take() -> Bool {
      state.withLock { state in
        defer { state.isTaken = true }
        return !state.isTaken
      }
    }

    func free() { state.withLock { $0.isTaken = false } }
  }

  public init(
    _ node: Leader, log: any ClusterLog, folder: any ReplicaFolder, clock: any NodeClock,
    digest: @escaping @Sendable () -> any CopyDigest
  ) {
    self.node = node
    self.log = log
    self.folder = folder
    self.clock = clock
    self.digest = digest
  }

  /// The number of records before a snapshot that remain in the log, so that a node that is a little behind need not
  /// load the snapshot.
  public static let keptRecords: UInt64 = 1_000

  public func newest() throws(LogUnavailable) -> SnapshotManifest? { try log.newest() }
  public func state() throws(LogUnavailable) -> LogState { try log.state() }

  private func checkShutdown() throws(LogUnavailable) {
    guard clock.wait(.zero) else { throw LogUnavailable("the node shuts down") }
  }

  // MARK: Load

  enum Download: Hashable, Sendable {
    /// The copy is at `ReplicaFolder.incoming`, and it is valid.
    case valid
    /// A newer snapshot has replaced this one.
    case replaced
    case rejected(SnapshotFault)
    /// Another thread copies the file.
    case busy
  }

  /// Downloads and checks a snapshot. Then calls `install`.
  func load<Failure: Error>(
    _ manifest: SnapshotManifest, install: () throws(Failure) -> Void
  ) throws(Failure) -> Result<Download, LogUnavailable> {
    guard turn.take() else { return .success(.busy) }
    defer { turn.free() }
    let result: Download
    do throws(LogUnavailable) {
      result = try download(manifest)
    } catch {
      return .failure(error)
    }
    if result == .valid { try install() }
    return .success(result)
  }

  private func download(_ manifest: SnapshotManifest) throws(LogUnavailable) -> Download {
    // The log may not continue from this copy. Then the download is useless.
    guard manifest.fits(file: manifest.position, try log.state(for: manifest.position)) else {
      return .rejected(.wrongPosition(manifest.position))
    }
    let path = folder.incoming
    guard FileManager.default.createFile(atPath: path, contents: nil, attributes: [.posixPermissions: 0o600]),
      let file = FileHandle(forWritingAtPath: path)
    else { return .rejected(.unreadable(reason: "\(path) cannot be written")) }
    defer { try? file.close() }
    var digest = digest()
    var size: UInt64 = 0
    for number in 0..<manifest.chunks {
      try checkShutdown()
      guard let chunk = try log.chunk(number, of: manifest) else {
        return try log.newest()?.id == manifest.id ? .rejected(.missingChunk(number)) : .replaced
      }
      size += UInt64(chunk.count)
      digest.update(chunk)
      do {
        try file.write(contentsOf: chunk)
      } catch {
        return .rejected(.unreadable(reason: "\(path) cannot be written"))
      }
    }
    guard size == manifest.size else { return .rejected(.wrongSize(size)) }
    guard digest.finish() == manifest.hash else { return .rejected(.wrongHash) }
    return try checkPosition(manifest)
  }

  private func checkPosition(_ manifest: SnapshotManifest) throws(LogUnavailable) -> Download {
    let position: LogPosition?
    do throws(ReplicaError) {
      position = try folder.position(ofCopy: folder.incoming)
    } catch {
      if case .newerSchema = error { return .rejected(.newerSchema) }
      return .rejected(.unreadable(reason: "\(error)"))
    }
    guard let position, manifest.fits(file: position, try log.state(for: position)) else {
      return .rejected(.wrongPosition(position))
    }
    return .valid
  }

  // MARK: Publish

  /// Copies the node's file and publishes the copy. Then removes the records of the log that no node needs any more.
  public func publish() throws(LogUnavailable) -> SnapshotManifest {
    guard turn.take() else { throw LogUnavailable("another transfer of the file is in progress") }
    defer { turn.free() }
    let path = folder.outgoing
    defer { try? FileManager.default.removeItem(atPath: path) }
    let position: LogPosition?
    do throws(ReplicaError) {
      position = try folder.copy(to: path)
    } catch {
      throw LogUnavailable("the file cannot be copied: \(error)")
    }
    guard let position else { throw LogUnavailable("the file follows no log") }
    try log.createSnapshotStream()
    let newest = try log.newest()
    removeLeftovers(but: newest)
    if let newest, newest.position.generation == position.generation, newest.position.sequence >= position.sequence {
      throw LogUnavailable("the newest snapshot \(newest.id) is as new as this file")
    }
    let id = "\(node.name).\(clock.gid().prefix(16))"
    let manifest: SnapshotManifest
    do throws(LogUnavailable) {
      manifest = try upload(path, id, position)
    } catch {
      remove(id)
      throw error
    }
    try publish(manifest)
    // At a failure, the next snapshot truncates the log.
    if position.sequence > Self.keptRecords { try? log.truncate(below: position.sequence - Self.keptRecords) }
    return manifest
  }

  private func publish(_ manifest: SnapshotManifest) throws(LogUnavailable) {
    let outcome: SnapshotOutcome
    do throws(LogUnavailable) {
      outcome = try log.publish(manifest)
    } catch {
      if let newest = try? log.newest(), newest.id == manifest.id { return }
      // The store may still accept the manifest. So the chunks stay until the next copy.
      turn.state.withLock { _ = $0.leftovers.insert(manifest.id) }
      throw error
    }
    guard case .rejected(let reason) = outcome else { return }
    remove(manifest.id)
    throw LogUnavailable(reason)
  }

  private func remove(_ id: String) {
    do throws(LogUnavailable) {
      try log.remove(id)
      turn.state.withLock { _ = $0.leftovers.remove(id) }
    } catch {
      turn.state.withLock { _ = $0.leftovers.insert(id) }
    }
  }

  private func removeLeftovers(but newest: SnapshotManifest?) {
    for id in turn.state.withLock({ $0.leftovers }) {
      if id == newest?.id { turn.state.withLock { _ = $0.leftovers.remove(id) } } else { remove(id) }
    }
  }

  private func upload(_ path: String, _ id: String, _ position: LogPosition) throws(LogUnavailable) -> SnapshotManifest
  {
    guard let file = FileHandle(forReadingAtPath: path) else { throw LogUnavailable("\(path) cannot be read") }
    defer { try? file.close() }
    var digest = digest()
    var size: UInt64 = 0
    var number = 0
    while true {
      let chunk: [UInt8]
      do {
        chunk = Array(try file.read(upToCount: SnapshotManifest.chunkSize) ?? Data())
      } catch {
        throw LogUnavailable("\(path) cannot be read")
      }
      guard !chunk.isEmpty else { break }
      digest.update(chunk)
      size += UInt64(chunk.count)
      try checkShutdown()
      try put(chunk, number, id)
      number += 1
    }
    return SnapshotManifest(id: id, position: position, size: size, hash: digest.finish())
  }

  /// Stores a chunk. A repetition replaces the chunk, so a failure is tried again.
  private func put(_ chunk: [UInt8], _ number: Int, _ id: String) throws(LogUnavailable) {
    for _ in 0..<5 {
      do {
        return try log.put(chunk, number: number, of: id)
      } catch {
        guard clock.wait(.milliseconds(500)) else { throw error }
      }
    }
    try log.put(chunk, number: number, of: id)
  }
}
