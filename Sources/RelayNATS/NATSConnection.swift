// SPDX-License-Identifier: Apache-2.0
import CNATS
import Dispatch
import Glibc
import Synchronization

/// A change of the connection, for the operator's log.
public enum NATSEvent: Hashable, Sendable, CustomStringConvertible {
  case connected(server: String)
  case disconnected(reason: String)
  case failed(reason: String)
  case closed

  public var description: String {
    switch self {
    case .connected(let server): "connected to NATS at \(server)"
    case .disconnected(let reason): "disconnected from NATS: \(reason)"
    case .failed(let reason): "NATS reports an error: \(reason)"
    case .closed: "the connection to NATS is closed"
    }
  }
}

/// A failure of cnats or of the server.
struct NATSError: Error {
  let status: natsStatus
  /// The code of JetStream's API. Is 0 for other failures.
  let code: UInt32
  let reason: String

  /// Makes the error from the calling thread's last error in cnats.
  init(_ status: natsStatus, code: jsErrCode = jsErrCode(0)) {
    self.status = status
    self.code = code.rawValue
    var text = nats_GetLastError(nil).map { String(cString: $0) } ?? ""
    // cnats begins the text with the line in its source, as in "(js.c:535): maximum bytes exceeded".
    if text.hasPrefix("("), let end = text.firstRange(of: "): ") { text = String(text[end.upperBound...]) }
    reason = text.isEmpty ? String(cString: natsStatus_GetText(status)) : text
  }
}

func check(_ status: natsStatus, code: jsErrCode = jsErrCode(0)) throws(NATSError) {
  guard status == NATS_OK else { throw NATSError(status, code: code) }
}

/// The connection to NATS. It reconnects by itself, without a limit.
///
/// Threads: any.
/// Safe: both pointers are constant, and cnats locks the objects behind them.
final class NATSConnection: @unchecked Sendable {
  let connection: OpaquePointer
  let jetStream: OpaquePointer
  private let refusals: Refusals

  /// Connects. Throws if no server answers.
  init(_ configuration: NATSConfiguration, onEvent: @escaping @Sendable (NATSEvent) -> Void) throws(NATSError) {
    var made: OpaquePointer?
    try check(natsOptions_Create(&made))
    guard let options = made else { preconditionFailure("cnats returned no options") }
    defer { natsOptions_Destroy(options) }
    try Self.set(options, configuration)
    // The closure of the callbacks. It is released some time after the callback `closed`.
    let refusals = Refusals()
    self.refusals = refusals
    let sink = Unmanaged.passRetained(EventSink(refusals, onEvent))
    var connection: OpaquePointer?
    do throws(NATSError) {
      try Self.setCallbacks(options, sink.toOpaque())
      try check(natsConnection_Connect(&connection, options))
    } catch {
      EventSinkLease(sink).endLater()
      throw error
    }
    guard let connection else { preconditionFailure("cnats returned no connection") }
    var jetStream: OpaquePointer?
    var settings = jsOptions()
    jsOptions_Init(&settings)
    settings.Wait = configuration.timeout.milliseconds
    let status = natsConnection_JetStream(&jetStream, connection, &settings)
    guard status == NATS_OK, let jetStream else {
      natsConnection_Destroy(connection)
      throw NATSError(status)
    }
    self.connection = connection
    self.jetStream = jetStream
    onEvent(.connected(server: Self.server(connection)))
  }

  deinit {
    jsCtx_Destroy(jetStream)
    natsConnection_Destroy(connection)
  }

  /// The server's newest refusal of a request, for example "Permissions Violation for Publish to …". Is `nil` after some
  /// seconds without one.
  var recentRefusal: String? { refusals.recent }

  /// The size of the largest message that the server accepts, in bytes.
  var maxPayload: Int64 { natsConnection_GetMaxPayload(connection) }

  var isConnected: Bool { natsConnection_Status(connection) == NATS_CONN_STATUS_CONNECTED }

  private static func set(_ options: OpaquePointer, _ configuration: NATSConfiguration) throws(NATSError) {
    try setServers(options, configuration.servers.split(separator: ",").map(String.init))
    try check(natsOptions_SetName(options, "stillwire \(configuration.node)"))
    try check(natsOptions_SetTimeout(options, 2_000))
    try check(natsOptions_SetMaxReconnect(options, -1))
    try check(natsOptions_SetReconnectWait(options, 100))
    try check(natsOptions_SetReconnectJitter(options, 100, 100))
    // A server that is paused or cut off is found after at most 3 s.
    try check(natsOptions_SetPingInterval(options, 1_000))
    try check(natsOptions_SetMaxPingsOut(options, 2))
    try check(natsOptions_SetSendAsap(options, true))
    try check(natsOptions_SetFailRequestsOnDisconnect(options, true))
    // cnats 3.4.1 does not read the scheme.
    if configuration.servers.contains("tls://") { try check(natsOptions_SetSecure(options, true)) }
    if let file = configuration.credentialsFile {
      try check(natsOptions_SetUserCredentialsFromFiles(options, file, nil))
    }
    if let file = configuration.authorityFile { try check(natsOptions_LoadCATrustedCertificates(options, file)) }
    if let file = configuration.certificateFile, let key = configuration.keyFile {
      try check(natsOptions_LoadCertificatesChain(options, file, key))
    }
  }

  private static func setServers(_ options: OpaquePointer, _ servers: [String]) throws(NATSError) {
    var copies = servers.map { UnsafePointer(strdup($0)) }
    defer { for copy in copies { free(UnsafeMutablePointer(mutating: copy)) } }
    try check(natsOptions_SetServers(options, &copies, Int32(copies.count)))
  }

  private static func setCallbacks(_ options: OpaquePointer, _ sink: UnsafeMutableRawPointer) throws(NATSError) {
    try check(
      natsOptions_SetDisconnectedCB(
        options,
        { connection, sink in
          EventSink.of(sink).onEvent(.disconnected(reason: NATSConnection.lastError(connection)))
        }, sink))
    try check(
      natsOptions_SetReconnectedCB(
        options,
        { connection, sink in
          EventSink.of(sink).onEvent(.connected(server: NATSConnection.server(connection)))
        }, sink))
    try check(
      natsOptions_SetErrorHandler(
        options,
        { connection, _, status, sink in
          let sink = EventSink.of(sink)
          guard status == NATS_NOT_PERMITTED else {
            return sink.onEvent(.failed(reason: String(cString: natsStatus_GetText(status))))
          }
          let reason = NATSConnection.lastError(connection)
          sink.refusals.note(reason)
          sink.onEvent(.failed(reason: "\(reason). \(NATSAdvice.permission)"))
        }, sink))
    try check(
      natsOptions_SetClosedCB(
        options,
        { _, sink in
          guard let sink else { return }
          EventSink.of(sink).onEvent(.closed)
          EventSinkLease(Unmanaged.fromOpaque(sink)).endLater()
        }, sink))
  }

  /// The server's address: its URL without the scheme, a user name and a password.
  private static func server(_ connection: OpaquePointer?) -> String {
    var buffer = [CChar](repeating: 0, count: 256)
    guard natsConnection_GetConnectedUrl(connection, &buffer, buffer.count) == NATS_OK else { return "?" }
    let url = String(decoding: buffer.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
    return String(url[(url.lastIndex { $0 == "@" || $0 == "/" }.map { url.index(after: $0) } ?? url.startIndex)...])
  }

  private static func lastError(_ connection: OpaquePointer?) -> String {
    var text: UnsafePointer<CChar>?
    _ = natsConnection_GetLastError(connection, &text)
    let words = text.map { String(cString: $0) } ?? ""
    return words.isEmpty ? "the server closed it, or does not answer" : words
  }
}

/// Safe: only ``endLater()`` uses it, once.
private struct EventSinkLease: @unchecked Sendable {
  private let sink: Unmanaged<EventSink>
  init(_ sink: Unmanaged<EventSink>) { self.sink = sink }

  /// Releases the sink after 30 s. cnats may still call the handler of errors: it has a queue of calls, and a
  /// subscription outlives its connection, see ``SubscriptionEnd``.
  func endLater() { DispatchQueue.global().asyncAfter(deadline: .now() + .seconds(30)) { sink.release() } }
}

/// The receiver of cnats' callbacks, which run on a thread of cnats.
private final class EventSink: Sendable {
  let refusals: Refusals
  let onEvent: @Sendable (NATSEvent) -> Void

  init(_ refusals: Refusals, _ onEvent: @escaping @Sendable (NATSEvent) -> Void) {
    self.refusals = refusals
    self.onEvent = onEvent
  }

  static func of(_ pointer: UnsafeMutableRawPointer?) -> EventSink {
    guard let pointer else { preconditionFailure("cnats lost the closure of a callback") }
    return Unmanaged<EventSink>.fromOpaque(pointer).takeUnretainedValue()
  }
}

/// The newest request that the server has refused. Any thread.
private final class Refusals: Sendable {
  private let last = Mutex<(reason: String, at: ContinuousClock.Instant)?>(nil)

  /// The time for which a refusal explains a request without an answer.
  private static let memory = Duration.seconds(5)

  var recent: String? {
    last.withLock { last in last.flatMap { ContinuousClock.now - $0.at < Self.memory ? $0.reason : nil } }
  }

  func note(_ reason: String) { last.withLock { $0 = (reason, .now) } }
}
