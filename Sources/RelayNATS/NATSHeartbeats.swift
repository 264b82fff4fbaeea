// SPDX-License-Identifier: Apache-2.0
import CNATS
public import RelayCluster

extension NATSLog: ClusterLog {}

/// The heartbeats of the leader and the clock notices of all nodes, over plain NATS: they are not stored, and they may
/// get lost.
extension NATSLog {
  public func send(_ heartbeat: Heartbeat) { send(heartbeat.text) }
  /// Sends the clock of this node to the other nodes.
  public func send(_ notice: ClockNotice) { send(notice.text) }

  /// Sends nothing while there is no connection, because cnats would keep the text and send it later.
  private func send(_ text: String) {
    guard nats.isConnected else { return }
    _ = natsConnection_PublishString(nats.connection, configuration.heartbeatSubject, text)
  }

  /// Calls `receive` for each heartbeat and `receiveClock` for each clock notice until the subscription ends, on a
  /// thread of cnats. Other texts on the subject are ignored.
  public func onHeartbeat(
    _ receive: @escaping @Sendable (Heartbeat) -> Void,
    onClock receiveClock: @escaping @Sendable (ClockNotice) -> Void = { _ in }
  ) throws(LogUnavailable) -> HeartbeatSubscription {
    let receiver = HeartbeatReceiver(receive, receiveClock)
    var subscription: OpaquePointer?
    let status = natsConnection_Subscribe(
      &subscription, nats.connection, configuration.heartbeatSubject,
      { _, _, message, receiver in
        defer { natsMsg_Destroy(message) }
        guard let message, let receiver else { return }
        let text = String(decoding: NATSMessage.body(message).prefix(Heartbeat.maxText + 1), as: UTF8.self)
        Unmanaged<HeartbeatReceiver>.fromOpaque(receiver).takeUnretainedValue().receive(text)
      }, Unmanaged.passUnretained(receiver).toOpaque())
    guard status == NATS_OK, let subscription else { throw unavailable(NATSError(status)) }
    return HeartbeatSubscription(subscription, receiver, nats)
  }
}

/// A subscription to heartbeats. It ends soon after this object is released.
///
/// Safe: the pointer is constant, and cnats locks the object behind it.
public final class HeartbeatSubscription: @unchecked Sendable {
  private let subscription: OpaquePointer
  private let receiver: HeartbeatReceiver
  private let nats: NATSConnection

  fileprivate init(_ subscription: OpaquePointer, _ receiver: HeartbeatReceiver, _ nats: NATSConnection) {
    self.subscription = subscription
    self.receiver = receiver
    self.nats = nats
    // The last callback may run after the object is released. cnats calls this after it.
    let retained = Unmanaged.passRetained(receiver)
    let status = natsSubscription_SetOnCompleteCB(
      subscription,
      { receiver in
        if let receiver { Unmanaged<HeartbeatReceiver>.fromOpaque(receiver).release() }
      }, retained.toOpaque())
    if status != NATS_OK { retained.release() }
  }

  deinit { SubscriptionEnd.end(subscription) }
}

private final class HeartbeatReceiver: Sendable {
  private let onHeartbeat: @Sendable (Heartbeat) -> Void
  private let onClock: @Sendable (ClockNotice) -> Void

  init(_ onHeartbeat: @escaping @Sendable (Heartbeat) -> Void, _ onClock: @escaping @Sendable (ClockNotice) -> Void) {
    self.onHeartbeat = onHeartbeat
    self.onClock = onClock
  }

  func receive(_ text: String) {
    if let heartbeat = Heartbeat(text: text) {
      onHeartbeat(heartbeat)
    } else if let notice = ClockNotice(text: text) {
      onClock(notice)
    }
  }
}
