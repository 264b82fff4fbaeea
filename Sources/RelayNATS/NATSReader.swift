// SPDX-License-Identifier: Apache-2.0
import CNATS
import RelayCluster

/// Reads the log with an ordered consumer: an ephemeral consumer without acknowledgements, which cnats creates again if
/// it misses a record. Belongs to one thread.
final class NATSReader: LogReader {
  private let log: NATSLog
  /// The sequence of the last record that was delivered.
  private var last: UInt64
  private var subscription: OpaquePointer?
  private var lastDelivery = ContinuousClock.now

  /// The time without a record after which the reader compares its position with the log. A leader writes at least
  /// once a second, so this time shows that the server may have lost the consumer.
  static let patience = Duration.seconds(2)

  init(_ log: NATSLog, after sequence: UInt64) throws(LogUnavailable) {
    self.log = log
    last = sequence
    try subscribe()
  }

  deinit { SubscriptionEnd.end(subscription) }

  func next(max: Int, timeout: Duration) throws(LogUnavailable) -> [LogRead] {
    var reads: [LogRead] = []
    var size = 0
    while reads.count < max, size < FollowerBatch.maxBytes {
      // Waits for the first record only.
      guard let message = try message(within: reads.isEmpty ? timeout : .zero) else { break }
      defer { natsMsg_Destroy(message) }
      guard let sequence = Self.sequence(message) else { throw LogUnavailable("a message is no record of the stream") }
      // cnats may deliver a record twice when it creates the consumer again.
      guard sequence > last else { continue }
      last = sequence
      lastDelivery = .now
      size += Int(natsMsg_GetDataLength(message))
      reads.append(NATSMessage.read(message, sequence: sequence))
    }
    if reads.isEmpty { try checkConsumer() }
    return reads
  }

  private func message(within timeout: Duration) throws(LogUnavailable) -> OpaquePointer? {
    var message: OpaquePointer?
    let status = natsSubscription_NextMsg(&message, subscription, timeout == .zero ? 0 : timeout.milliseconds)
    switch status {
    case NATS_OK: return message
    case NATS_TIMEOUT: return nil
    default: throw log.unavailable(NATSError(status))
    }
  }

  /// Creates the consumer again if the log has records that the consumer has not delivered for some time.
  private func checkConsumer() throws(LogUnavailable) {
    guard ContinuousClock.now - lastDelivery >= Self.patience else { return }
    lastDelivery = .now
    guard try log.state().last > last else { return }
    SubscriptionEnd.end(subscription)
    subscription = nil
    try subscribe()
  }

  private func subscribe() throws(LogUnavailable) {
    var options = jsSubOptions()
    jsSubOptions_Init(&options)
    options.Ordered = true
    options.Config.DeliverPolicy = js_DeliverByStartSequence
    options.Config.OptStartSeq = last + 1
    var code = jsErrCode(0)
    let status = log.configuration.logStream.withCString { stream in
      options.Stream = stream
      return js_SubscribeSync(
        &subscription, log.nats.jetStream, log.configuration.logSubject, nil, &options, &code)
    }
    guard status == NATS_OK else { throw log.unavailable(NATSError(status, code: code)) }
  }

  private static func sequence(_ message: OpaquePointer) -> UInt64? {
    var found: UnsafeMutablePointer<jsMsgMetaData>?
    guard natsMsg_GetMetaData(&found, message) == NATS_OK, let found else { return nil }
    defer { jsMsgMetaData_Destroy(found) }
    return found.pointee.Sequence.Stream
  }
}
