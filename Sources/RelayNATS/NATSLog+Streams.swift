// SPDX-License-Identifier: Apache-2.0
import CNATS
public import RelayCluster

/// The creation of the streams.
extension NATSLog {
  /// Creates the streams that do not exist.
  ///
  /// Call this only if the node's file has no generation yet, or to begin a new one. A node that follows a log must not
  /// create another: it stops with an alarm.
  /// - Returns: The state of the log.
  public func createStreams() throws(LogUnavailable) -> LogState {
    do throws(NATSError) {
      if try streamState(configuration.logStream) == nil {
        try create(configuration.logStream, configuration.logSubject) {
          $0.MaxBytes = configuration.maxLogBytes
          $0.Duplicates = configuration.duplicateWindow.milliseconds * 1_000_000
          $0.MaxMsgSize = 1 << 20
        }
      }
    } catch {
      throw unavailable(error)
    }
    try createSnapshotStream()
    return try state()
  }

  public func createSnapshotStream() throws(LogUnavailable) {
    do throws(NATSError) {
      guard try streamState(configuration.snapshotStream) == nil else { return }
      do throws(NATSError) {
        try createSnapshotStream(maxBytes: configuration.maxSnapshotBytes)
      } catch  where Self.isShortOfStorage(error) {
        // The server reserves the limit of each stream. A server with a small disk gets no limit here.
        try createSnapshotStream(maxBytes: -1)
      }
    } catch {
      throw unavailable(error)
    }
  }

  private static func isShortOfStorage(_ error: NATSError) -> Bool {
    [
      JSStorageResourcesExceededErr.rawValue, JSInsufficientResourcesErr.rawValue,
      JSAccountResourcesExceededErr.rawValue, JSClusterNoPeersErr.rawValue,
    ].contains(error.code)
  }

  private func createSnapshotStream(maxBytes: Int64) throws(NATSError) {
    try create(configuration.snapshotStream, configuration.snapshotSubjects) {
      $0.MaxBytes = maxBytes
      $0.MaxMsgsPerSubject = 1
      $0.MaxMsgSize = 1 << 20
    }
  }

  /// Deletes the streams with all records and copies. Only `stillwire cluster reset` may do this.
  public func deleteStreams() throws(LogUnavailable) {
    for stream in [configuration.logStream, configuration.snapshotStream] {
      var code = jsErrCode(0)
      let status = js_DeleteStream(nats.jetStream, stream, nil, &code)
      let error = NATSError(status, code: code)
      guard status == NATS_OK || status == NATS_NOT_FOUND || error.code == JSStreamNotFoundErr.rawValue else {
        throw unavailable(error)
      }
    }
  }

  private func create(
    _ name: String, _ subject: String, _ configure: (inout jsStreamConfig) -> Void
  ) throws(NATSError) {
    var settings = jsStreamConfig()
    jsStreamConfig_Init(&settings)
    settings.Storage = js_FileStorage
    settings.Retention = js_LimitsPolicy
    // A full stream rejects new records instead of dropping old ones.
    settings.Discard = js_DiscardNew
    settings.Replicas = Int64(configuration.replicas)
    settings.DenyDelete = true
    configure(&settings)
    var code = jsErrCode(0)
    let status = name.withCString { name in
      subject.withCString { subject in
        var subjects: [UnsafePointer<CChar>?] = [subject]
        return subjects.withUnsafeMutableBufferPointer { subjects in
          settings.Name = name
          settings.Subjects = subjects.baseAddress
          settings.SubjectsLen = 1
          return js_AddStream(nil, nats.jetStream, &settings, nil, &code)
        }
      }
    }
    try check(status, code: code)
  }
}
