// SPDX-License-Identifier: Apache-2.0
public import RelayDelivery
public import RelayProtocol
import Synchronization

/// A gateway that needs no account: it keeps the lock screen of each phone in memory.
///
/// It refuses what Apple's service would refuse. A token is any text of at most 128 bytes that could be a device's
/// name. A phone keeps its newest 100 notifications; of more than 10,000 phones, the one not used for longest is
/// forgotten. A phone can be put out of reach, as if nothing answered for it, so that one sees what a relay does then;
/// its lock screen stays. Any thread.
public final class SimulatedGateway: Gateway {
  private struct State {
    var phones: RecentlyUsed<String, SimulatedPhone>
    var listeners: [String: [UInt64: AsyncStream<LockScreenEvent>.Continuation]] = [:]
    var nextListener: UInt64 = 0

    /// Uses a phone, which may be a new one.
    mutating func use<Result>(_ token: String, _ body: (inout SimulatedPhone) -> Result) -> Result {
      if let result = phones.use(token, body) { return result }
      var phone = SimulatedPhone()
      let result = body(&phone)
      if let former = phones.insert(phone, for: token) {
        tell(.cleared(count: former.value.notifications.count), to: former.key)
      }
      return result
    }

    func tell(_ event: LockScreenEvent, to token: String) {
      // Under the lock, so that events keep the order of what they tell.
      for listener in (listeners[token] ?? [:]).values { listener.yield(event) }
    }
  }

  public static let mostPhones = 10_000
  /// Events that wait for a listener at most; the oldest are dropped first.
  public static let eventBuffer = 256

  /// To ask costs nothing here, and who has a phone reached again is looking at it.
  public let retryPolicy = RetryPolicy(longest: .seconds(5))

  private let state: Mutex<State>
  private let now: @Sendable () -> Timestamp

  public convenience init(now: @escaping @Sendable () -> Timestamp) {
    self.init(mostPhones: Self.mostPhones, now: now)
  }

  init(mostPhones: Int, now: @escaping @Sendable () -> Timestamp) {
    state = Mutex(State(phones: RecentlyUsed(capacity: mostPhones)))
    self.now = now
  }

  public func send(_ push: Push, to device: Device, noting log: AttemptLog) async -> PushOutcome {
    let token = push.token(of: device)
    guard DeviceID(rawValue: token) != nil else { return .forgetDevice(.badDeviceToken) }
    let fault = push.fault
    let notification = ShownNotification(push: push, time: now())
    return state.withLock { state in
      guard state.phones.use(token, { $0.isReachable }) ?? true else { return .retry(after: nil, .connectFailed) }
      if let fault { return .dead(fault) }
      let (note, event) = state.use(token) { $0.screen.show(notification) }
      if let event { state.tell(event, to: token) }
      return .sent(note)
    }
  }

  /// As it is now; for a token that nothing was sent to, reachable and with nothing to show.
  public func phone(_ token: String) -> SimulatedPhone {
    state.withLock { $0.phones.use(token) { $0 } ?? SimulatedPhone() }
  }

  /// Whether pushes get to a phone, from now on; forgotten with the phone.
  public func setReachable(_ isReachable: Bool, _ token: String) {
    state.withLock { state in
      // A phone that is not known is reached anyway: it needs nobody's place.
      if isReachable {
        _ = state.phones.use(token) { $0.isReachable = true }
      } else {
        state.use(token) { $0.isReachable = false }
      }
    }
  }

  /// What happens on the lock screen from now on. A listener that lists the notifications after this call misses none;
  /// their ids tell which it has heard of as well.
  public func events(of token: String) -> AsyncStream<LockScreenEvent> {
    let (stream, continuation) = AsyncStream.makeStream(
      of: LockScreenEvent.self, bufferingPolicy: .bufferingNewest(Self.eventBuffer))
    let id = state.withLock { state in
      state.nextListener += 1
      state.listeners[token, default: [:]][state.nextListener] = continuation
      return state.nextListener
    }
    continuation.onTermination = { [weak self] _ in self?.forgetListener(id, of: token) }
    return stream
  }

  /// The person opens the app: its notifications go.
  /// - Returns: How many there were.
  @discardableResult
  public func clear(_ token: String) -> Int {
    state.withLock { state in
      let count = state.phones.use(token) { phone in
        defer { phone.screen.clear() }
        return phone.notifications.count
      }
      guard let count, count > 0 else { return 0 }
      state.tell(.cleared(count: count), to: token)
      return count
    }
  }

  /// How many streams of events are open, by token.
  var listenerCounts: [String: Int] { state.withLock { $0.listeners.mapValues(\.count) } }

  private func forgetListener(_ id: UInt64, of token: String) {
    state.withLock { state in
      state.listeners[token]?[id] = nil
      if state.listeners[token]?.isEmpty == true { state.listeners[token] = nil }
    }
  }
}
