// SPDX-License-Identifier: Apache-2.0
import CNATS
public import RelayCluster

/// The log as a stream of NATS JetStream, over cnats (Debian's libnats-dev 3.4.1).
///
/// The stream has one subject. It stores records in files, denies the removal of single records, and rejects records
/// when it is full. Threads: see ``ReplicatedLog``.
public final class NATSLog: ReplicatedLog {
  let configuration: NATSConfiguration
  let nats: NATSConnection

  /// Connects.
  /// - Parameter onEvent: Called on a thread of cnats.
  public init(
    _ configuration: NATSConfiguration, onEvent: @escaping @Sendable (NATSEvent) -> Void
  ) throws(LogUnavailable) {
    self.configuration = configuration
    do throws(NATSError) {
      nats = try NATSConnection(configuration, onEvent: onEvent)
    } catch {
      throw LogUnavailable(NATSAdvice.text(error, configuration))
    }
    let max = nats.maxPayload
    guard max >= Self.minPayload else {
      throw LogUnavailable(
        "the NATS server accepts only messages of \(max) bytes. Set its max_payload to \(Self.minPayload) or more")
    }
  }

  /// The size that the largest record needs with its headers. It is the default of nats-server.
  static let minPayload: Int64 = 1 << 20

  public func publish(_ record: LogRecord) -> PublishOutcome {
    do throws(NATSError) {
      let (headers, body) = NATSMessage.contents(of: record)
      let sequence = try publish(configuration.logSubject, headers: headers, body: body)
      // A server may know the id of an attempt that it has not stored yet.
      return sequence > 0 ? .stored(sequence) : .unknown(reason: "the answer has no sequence")
    } catch {
      if error.code == JSStreamWrongLastSequenceErr.rawValue { return .rejected }
      return .unknown(reason: unavailable(error).reason)
    }
  }

  public func read(_ sequence: UInt64) throws(LogUnavailable) -> LogRead {
    var message: OpaquePointer?
    var code = jsErrCode(0)
    // Not js_DirectGetMsg: a copy of the stream that is not the leader may answer it with an older state.
    let status = js_GetMsg(&message, nats.jetStream, configuration.logStream, sequence, nil, &code)
    guard status == NATS_OK, let message else {
      let error = NATSError(status, code: code)
      // Without the stream, its state shows that the log was deleted.
      if [JSNoMessageFoundErr.rawValue, JSStreamNotFoundErr.rawValue].contains(error.code) { return .missing }
      throw unavailable(error)
    }
    defer { natsMsg_Destroy(message) }
    return NATSMessage.read(message, sequence: sequence)
  }

  public func state() throws(LogUnavailable) -> LogState {
    do throws(NATSError) {
      return try streamState(configuration.logStream) ?? LogState(generation: 0, first: 1, last: 0)
    } catch {
      throw unavailable(error)
    }
  }

  public func follow(after sequence: UInt64) throws(LogUnavailable) -> any LogReader {
    NATSReader(self, after: sequence)
  }

  public func condition(of stream: LogStream) throws(LogUnavailable) -> StreamCondition? {
    let name = stream == .log ? configuration.logStream : configuration.snapshotStream
    let found: StreamCondition??
    do throws(NATSError) {
      found = try withInfo(of: name) { info in
        Self.replicas(of: info).map { StreamCondition(last: info.State.LastSeq, replicas: $0) }
      }
    } catch {
      throw unavailable(error)
    }
    guard let found else { return nil }
    guard let condition = found else { throw LogUnavailable("the NATS servers elect a leader of the stream \(name)") }
    return condition
  }

  /// Returns `nil` if the stream has no leader now. A server that runs without a cluster is the only replica.
  private static func replicas(of info: jsStreamInfo) -> StreamReplicas? {
    let configured = Int(info.Config?.pointee.Replicas ?? 1)
    guard let cluster = info.Cluster?.pointee else { return StreamReplicas(configured: configured, current: 1) }
    guard let leader = cluster.Leader, leader.pointee != 0 else { return nil }
    var missing: [String] = []
    for peer in UnsafeBufferPointer(start: cluster.Replicas, count: Int(cluster.ReplicasLen)) {
      guard let peer = peer?.pointee, !peer.Current || peer.Offline else { continue }
      missing.append(peer.Name.map { String(cString: $0) } ?? "?")
    }
    return StreamReplicas(
      configured: configured, current: 1 + Int(cluster.ReplicasLen) - missing.count, missing: missing)
  }

  public func truncate(below sequence: UInt64) throws(LogUnavailable) {
    do throws(NATSError) {
      try purge(configuration.logStream, subject: nil, below: sequence)
    } catch {
      throw unavailable(error)
    }
  }

  public func electAnotherServer() {
    // cnats 3.4.1 has no call for this request.
    var answer: OpaquePointer?
    let subject = "$JS.API.STREAM.LEADER.STEPDOWN.\(configuration.logStream)"
    _ = natsConnection_RequestString(&answer, nats.connection, subject, "", 2_000)
    natsMsg_Destroy(answer)
  }

  // MARK: Parts that the snapshots share

  /// The failure as the operator reads it.
  func unavailable(_ error: NATSError) -> LogUnavailable {
    // A server does not answer a request that it refuses. It only reports the refusal.
    if error.status == NATS_TIMEOUT, let refusal = nats.recentRefusal {
      return LogUnavailable("\(refusal). \(NATSAdvice.permission)")
    }
    return LogUnavailable(NATSAdvice.text(error, configuration))
  }

  /// Publishes a message to a stream, and returns its sequence.
  func publish(_ subject: String, headers: [HeaderField], body: [UInt8]) throws(NATSError) -> UInt64 {
    let message = try NATSMessage.make(subject, headers: headers, body: body)
    defer { natsMsg_Destroy(message) }
    var answer: UnsafeMutablePointer<jsPubAck>?
    var code = jsErrCode(0)
    // The options are not used: cnats 3.4.1 takes `ExpectLastSeq` 0 as not set.
    try check(js_PublishMsg(&answer, nats.jetStream, message, nil, &code), code: code)
    defer { jsPubAck_Destroy(answer) }
    return answer?.pointee.Sequence ?? 0
  }

  /// Returns `nil` if the stream does not exist.
  func streamState(_ stream: String) throws(NATSError) -> LogState? {
    try withInfo(of: stream) { info in
      // An empty stream reports 0 as its first sequence, until a purge has raised it.
      LogState(
        generation: info.Created, first: info.State.Msgs == 0 ? info.State.LastSeq + 1 : info.State.FirstSeq,
        last: info.State.LastSeq, bytes: info.State.Bytes)
    }
  }

  /// Returns the result of `use` for the description of a stream. Returns `nil` if the stream does not exist.
  private func withInfo<Value>(of stream: String, _ use: (jsStreamInfo) -> Value) throws(NATSError) -> Value? {
    var found: UnsafeMutablePointer<jsStreamInfo>?
    var code = jsErrCode(0)
    let status = js_GetStreamInfo(&found, nats.jetStream, stream, nil, &code)
    guard status == NATS_OK, let found else {
      let error = NATSError(status, code: code)
      if status == NATS_NOT_FOUND || error.code == JSStreamNotFoundErr.rawValue { return nil }
      throw error
    }
    defer { jsStreamInfo_Destroy(found) }
    return use(found.pointee)
  }

  /// - Parameters:
  ///   - subject: Removes only messages with such a subject.
  ///   - sequence: Removes only messages below this sequence. Is `nil` for all.
  func purge(_ stream: String, subject: String?, below sequence: UInt64?) throws(NATSError) {
    // nats-server 2.9 removes all messages if the sequence is 0 or 1.
    if let sequence, sequence <= 1 { return }
    var options = jsOptions()
    jsOptions_Init(&options)
    options.Stream.Purge.Sequence = sequence ?? 0
    var code = jsErrCode(0)
    let status = subject.withCStringOrNil { subject in
      options.Stream.Purge.Subject = subject
      return js_PurgeStream(nats.jetStream, stream, &options, &code)
    }
    try check(status, code: code)
  }
}

extension String? {
  func withCStringOrNil<T>(_ body: (UnsafePointer<CChar>?) -> T) -> T {
    if let self { self.withCString { body($0) } } else { body(nil) }
  }
}
