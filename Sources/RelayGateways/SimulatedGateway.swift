// SPDX-License-Identifier: Apache-2.0
public import RelayDelivery
public import RelayProtocol
import Synchronization

/// A gateway that needs no account. It keeps the lock screen of each simulated phone in memory.
///
/// - It refuses the pushes that Apple's service would refuse.
/// - A token is any valid device name of at most 128 bytes.
/// - A phone keeps its newest 100 notifications. Above 10,000 phones, the least recently used phone is removed.
/// - A phone can be made unreachable, to show the relay's retries. Its lock screen stays.
///
/// Safe to use from any thread.
public final class SimulatedGateway: Gateway {
  private struct State {
    var phones: RecentlyUsed<String, SimulatedPhone>
    var listeners: [String: [UInt64: AsyncStream<LockScreenEvent>.Continuation]] = [:]
    var nextListener: UInt64 = 0

    /// Calls `body` with a phone; creates the phone if necessary.
    mutating func use<T>(_ token: String, _ body: (inout SimulatedPhone) -> T) -> T {
      if let result = phones.use(token, body) { return result }
      var phone = SimulatedPhone()
      let result = body(&phone)
      if let former = phones.insert(phone, for: token) {
        notify(.cleared(count: former.value.notifications.count), to: former.key)
      }
      return result
    }

    func notify(_ event: LockScreenEvent, to token: String) {
      // The caller holds the lock, so that events arrive in the order of the changes.
      for listener in (listeners[token] ?? [:]).values { listener.yield(event) }
    }
  }

  public static let maxPhones = 10_000
  /// The capacity of a listener's buffer. A full buffer drops the oldest event.
  public static let eventBuffer = 256

  /// Retries within 5 s: attempts cost nothing here, and somebody who makes a phone reachable again waits for its
  /// pushes.
  public let retryPolicy = RetryPolicy(maxDelay: .seconds(5))

  private let state: Mutex<State>
  private let now: @Sendable () -> Timestamp

  public convenience init(now: @escaping @Sendable () -> Timestamp) {
    self.init(maxPhones: Self.maxPhones, now: now)
  }

  init(maxPhones: Int, now: @escaping @Sendable () -> Timestamp) {
    state = Mutex(State(phones: RecentlyUsed(capacity: maxPhones)))
    self.now = now
  }

  public func send(_ phonePush: PhonePush, to device: Device, noting log: AttemptLog) async -> PushOutcome {
    guard let push = phonePush.rendered else { return .dead(.payloadTooLarge) }
    return send(push, ScreenContents(phonePush, rooms: push.listedRooms), to: device)
  }

  func send(_ push: Push, _ contents: ScreenContents, to device: Device) -> PushOutcome {
    let token = push.token(of: device)
    guard DeviceID(rawValue: token) != nil else { return .forgetDevice(.badDeviceToken) }
    let fault = push.fault
    let notification = ShownNotification(push: push, time: now(), contents: contents)
    return state.withLock { state in
      guard state.phones.use(token, { $0.isReachable }) ?? true else { return .retry(after: nil, .connectFailed) }
      if let fault { return .dead(fault) }
      let (note, event) = state.use(token) { $0.screen.show(notification) }
      if let event { state.notify(event, to: token) }
      return .sent(note)
    }
  }

  /// Returns the current state of a phone. An unknown token returns a reachable phone without notifications.
  public func phone(_ token: String) -> SimulatedPhone {
    state.withLock { $0.phones.use(token) { $0 } ?? SimulatedPhone() }
  }

  /// Makes a phone reachable or unreachable. The setting is lost when the phone is removed.
  public func setReachable(_ isReachable: Bool, _ token: String) {
    state.withLock { state in
      // An unknown phone is reachable, so it needs no entry that could remove another phone.
      if isReachable {
        _ = state.phones.use(token) { $0.isReachable = true }
      } else {
        state.use(token) { $0.isReachable = false }
      }
    }
  }

  /// Returns the events on a lock screen from now on. To miss none, read the notifications after this call; a
  /// notification that is also an event has the same id.
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

  /// Removes the notifications, as if the user opened the app.
  /// - Returns: The number of removed notifications.
  @discardableResult
  public func clear(_ token: String) -> Int {
    state.withLock { state in
      let count = state.phones.use(token) { phone in
        defer { phone.screen.clear() }
        return phone.notifications.count
      }
      guard let count, count > 0 else { return 0 }
      state.notify(.cleared(count: count), to: token)
      return count
    }
  }

  /// The number of open event streams, by token.
  var listenerCounts: [String: Int] { state.withLock { $0.listeners.mapValues(\.count) } }

  private func forgetListener(_ id: UInt64, of token: String) {
    state.withLock { state in
      state.listeners[token]?[id] = nil
      if state.listeners[token]?.isEmpty == true { state.listeners[token] = nil }
    }
  }
}
