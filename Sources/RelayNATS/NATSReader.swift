// SPDX-License-Identifier: Apache-2.0
import CNATS
import Dispatch
import Glibc
import RelayCluster
import Synchronization

/// Reads the log with an ordered consumer: an ephemeral consumer without acknowledgements, which cnats creates again if
/// it misses a record. While NATS makes no consumer, it reads single records. Belongs to one thread.
final class NATSReader: LogReader {
  private let log: NATSLog
  /// The sequence of the last record that was delivered.
  private var last: UInt64
  private var step = ConsumerStep(at: .now)
  private var attempt: ConsumerAttempt?
  private var subscription: OpaquePointer?
  private(set) var obstacle: String?

  init(_ log: NATSLog, after sequence: UInt64) {
    self.log = log
    last = sequence
  }

  deinit {
    attempt?.abandon()
    SubscriptionEnd.end(subscription)
  }

  func next(max: Int, timeout: Duration) throws(LogUnavailable) -> [LogRead] {
    take()
    switch step.next(at: .now) {
    case .receive: return try receive(max, timeout)
    case .compare:
      if try log.state().last > last { lose() } else { step.compared(isComplete: true, at: .now) }
      return []
    case .read(let attempts):
      if attempts { attempt = ConsumerAttempt(log, after: last) }
      return try read(max, timeout)
    }
  }

  /// Takes the result of an attempt that has ended.
  private func take() {
    guard let attempt, let result = attempt.result else { return }
    self.attempt = nil
    switch result {
    case .success(let subscription):
      self.subscription = subscription.pointer
      obstacle = nil
    case .failure(let error): obstacle = error.reason
    }
    step.attempted(hasConsumer: subscription != nil, at: .now)
  }

  /// The consumer delivers nothing any more.
  private func lose() {
    SubscriptionEnd.end(subscription)
    subscription = nil
    step.compared(isComplete: false, at: .now)
  }

  private func receive(_ max: Int, _ timeout: Duration) throws(LogUnavailable) -> [LogRead] {
    var reads: [LogRead] = []
    var size = 0
    while reads.count < max, size < FollowerBatch.maxBytes {
      // Waits for the first record only.
      guard let message = message(within: reads.isEmpty ? timeout : .zero) else { break }
      defer { natsMsg_Destroy(message) }
      guard let sequence = Self.sequence(message) else { throw LogUnavailable("a message is no record of the stream") }
      // The consumer begins where the attempt began, and cnats may deliver a record twice when it creates it again.
      guard sequence > last else { continue }
      last = sequence
      step.received(at: .now)
      size += Int(natsMsg_GetDataLength(message))
      reads.append(NATSMessage.read(message, sequence: sequence))
    }
    return reads
  }

  private func read(_ max: Int, _ timeout: Duration) throws(LogUnavailable) -> [LogRead] {
    let reader = MessageReader(log, after: last) { [attempt] time in
      // A consumer that is made meanwhile ends the wait.
      let end = ContinuousClock.now + time
      while attempt?.result == nil, ContinuousClock.now < end { usleep(2_000) }
    }
    let reads = try reader.next(max: max, timeout: timeout)
    last = reader.last
    return reads
  }

  /// Returns the next message of the consumer. Without one, or without a consumer that works, returns `nil`.
  private func message(within timeout: Duration) -> OpaquePointer? {
    var message: OpaquePointer?
    let status = natsSubscription_NextMsg(&message, subscription, timeout == .zero ? 0 : timeout.milliseconds)
    switch status {
    case NATS_OK: return message
    case NATS_TIMEOUT: return nil
    default:
      obstacle = log.unavailable(NATSError(status)).reason
      lose()
      return nil
    }
  }

  private static func sequence(_ message: OpaquePointer) -> UInt64? {
    var found: UnsafeMutablePointer<jsMsgMetaData>?
    guard natsMsg_GetMetaData(&found, message) == NATS_OK, let found else { return nil }
    defer { jsMsgMetaData_Destroy(found) }
    return found.pointee.Sequence.Stream
  }
}

/// An attempt to make a consumer, on a thread of its own: without the leader of the servers it blocks until a timeout.
/// Any thread.
private final class ConsumerAttempt: Sendable {
  /// Safe: cnats locks the object behind the pointer.
  struct Subscription: @unchecked Sendable {
    let pointer: OpaquePointer
  }

  private enum State {
    case runs
    case ended(Result<Subscription, LogUnavailable>)
    case abandoned
  }

  private let state = Mutex(State.runs)

  init(_ log: NATSLog, after sequence: UInt64) {
    DispatchQueue.global().async { [self] in end(Self.subscribe(log, after: sequence)) }
  }

  /// Is `nil` while the attempt runs.
  var result: Result<Subscription, LogUnavailable>? {
    state.withLock { if case .ended(let result) = $0 { result } else { nil } }
  }

  /// Nobody takes the result.
  func abandon() {
    let old = state.withLock { state in
      defer { state = .abandoned }
      return state
    }
    if case .ended(.success(let subscription)) = old { SubscriptionEnd.end(subscription.pointer) }
  }

  private func end(_ result: Result<Subscription, LogUnavailable>) {
    let isTaken = state.withLock { state in
      guard case .runs = state else { return false }
      state = .ended(result)
      return true
    }
    if !isTaken, case .success(let subscription) = result { SubscriptionEnd.end(subscription.pointer) }
  }

  private static func subscribe(
    _ log: NATSLog, after sequence: UInt64
  ) -> Result<Subscription, LogUnavailable> {
    var options = jsSubOptions()
    jsSubOptions_Init(&options)
    options.Ordered = true
    options.Config.DeliverPolicy = js_DeliverByStartSequence
    options.Config.OptStartSeq = sequence + 1
    var subscription: OpaquePointer?
    var code = jsErrCode(0)
    let status = log.configuration.logStream.withCString { stream in
      options.Stream = stream
      return js_SubscribeSync(
        &subscription, log.nats.jetStream, log.configuration.logSubject, nil, &options, &code)
    }
    guard status == NATS_OK, let subscription else { return .failure(log.unavailable(NATSError(status, code: code))) }
    return .success(Subscription(pointer: subscription))
  }
}
