// SPDX-License-Identifier: Apache-2.0
import CNATS
public import RelayCluster

/// The copies of files, in a second stream. Each chunk has a subject of its own, and the manifest of the newest copy
/// has one for all copies. cnats 3.4.1 has no API for NATS' object store.
extension NATSLog: SnapshotStore {
  public func put(_ chunk: [UInt8], number: Int, of id: String) throws(LogUnavailable) {
    try attempt { () throws(NATSError) in
      _ = try publish(configuration.chunkSubject("\(number)", of: id), headers: [], body: chunk)
    }
  }

  public func publish(_ manifest: SnapshotManifest) throws(LogUnavailable) -> SnapshotOutcome {
    let last = try attempt { () throws(NATSError) in
      try lastMessage(configuration.chunkSubject("\(manifest.chunks - 1)", of: manifest.id))
    }
    let chunks = try attempt { () throws(NATSError) in
      try countSubjects(configuration.chunkSubject("*", of: manifest.id))
    }
    guard let last, chunks == manifest.chunks else { return .rejected(reason: "the chunks of the copy were removed") }
    // A node that has not noticed a loss of the log's tail must not publish its file.
    guard try contains(manifest.position) else {
      return .rejected(reason: "the log does not contain the position of the copy")
    }
    let replaced = try newest()
    if let old = replaced?.position, old.sequence >= manifest.position.sequence,
      try isSame(old, manifest.position)
    {
      return .rejected(reason: "another node has published a copy that is as new")
    }
    do throws(NATSError) {
      let expected = HeaderField(RecordHeader.expected.rawValue, "\(last.sequence)")
      _ = try publish(configuration.manifestSubject, headers: [expected], body: Array(manifest.text.utf8))
    } catch {
      // Another node stored anything since the last chunk.
      if error.code == JSStreamWrongLastSequenceErr.rawValue { return .rejected(reason: error.reason) }
      throw unavailable(error)
    }
    // At a failure, the next copy removes these.
    try? removeOlder(than: manifest, replaced)
    return .published
  }

  private func removeOlder(than manifest: SnapshotManifest, _ replaced: SnapshotManifest?) throws(NATSError) {
    if let replaced { try removeChunks(of: replaced.id) }
    // Chunks of this node's copies that it never published.
    let node = manifest.id.prefix { $0 != "." }
    guard let first = try lastMessage(configuration.chunkSubject("0", of: manifest.id)) else { return }
    try purge(
      configuration.snapshotStream, subject: configuration.chunkSubject("*", of: "\(node).*"), below: first.sequence)
  }

  public func remove(_ id: String) throws(LogUnavailable) {
    try attempt { () throws(NATSError) in try removeChunks(of: id) }
  }

  public func newest() throws(LogUnavailable) -> SnapshotManifest? {
    let message = try attempt { () throws(NATSError) in try lastMessage(configuration.manifestSubject) }
    guard let message else { return nil }
    guard let manifest = SnapshotManifest(text: String(decoding: message.body, as: UTF8.self)) else {
      throw LogUnavailable("the manifest of the newest snapshot is not readable. Install the version of the leader")
    }
    return manifest
  }

  public func chunk(_ number: Int, of manifest: SnapshotManifest) throws(LogUnavailable) -> [UInt8]? {
    try attempt { () throws(NATSError) in
      try lastMessage(configuration.chunkSubject("\(number)", of: manifest.id))?.body
    }
  }

  private func removeChunks(of id: String) throws(NATSError) {
    try purge(configuration.snapshotStream, subject: configuration.chunkSubject("*", of: id), below: nil)
  }

  private func lastMessage(_ subject: String) throws(NATSError) -> (sequence: UInt64, body: [UInt8])? {
    var message: OpaquePointer?
    var code = jsErrCode(0)
    let status = js_GetLastMsg(&message, nats.jetStream, configuration.snapshotStream, subject, nil, &code)
    guard status == NATS_OK, let message else {
      let error = NATSError(status, code: code)
      if [JSNoMessageFoundErr.rawValue, JSStreamNotFoundErr.rawValue].contains(error.code) { return nil }
      throw error
    }
    defer { natsMsg_Destroy(message) }
    return (natsMsg_GetSequence(message), NATSMessage.body(message))
  }

  /// The number of subjects that match, and have a message.
  private func countSubjects(_ filter: String) throws(NATSError) -> Int {
    var options = jsOptions()
    jsOptions_Init(&options)
    var found: UnsafeMutablePointer<jsStreamInfo>?
    var code = jsErrCode(0)
    let status = filter.withCString { filter in
      options.Stream.Info.SubjectsFilter = filter
      return js_GetStreamInfo(&found, nats.jetStream, configuration.snapshotStream, &options, &code)
    }
    guard status == NATS_OK, let found else { throw NATSError(status, code: code) }
    defer { jsStreamInfo_Destroy(found) }
    return found.pointee.State.Subjects.map { Int($0.pointee.Count) } ?? 0
  }

  private func attempt<Value>(_ work: () throws(NATSError) -> Value) throws(LogUnavailable) -> Value {
    do throws(NATSError) {
      return try work()
    } catch {
      throw unavailable(error)
    }
  }
}
