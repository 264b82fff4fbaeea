// SPDX-License-Identifier: Apache-2.0
import RelayProtocol
import Synchronization

extension AppleSimulator {
  /// The devices, and the number of pushes to each in the current minute. Safe to use from any thread. The lock is held
  /// only for short changes of one device.
  final class Shelf: Sendable {
    fileprivate struct Minute {
      var began: Timestamp
      var count: Int

      func isOver(_ now: Timestamp) -> Bool { now - began >= .seconds(60) || now < began }
    }

    fileprivate struct State {
      var phones: [String: Phone] = [:]
      var minutes: [String: Minute] = [:]
    }

    static let maxPhones = 10_000
    /// The maximum number of devices whose pushes are counted.
    static let maxCounted = 10_000

    private let state = Mutex(State())
    /// False until a script sets a device. Then `take` does not need the lock.
    private let isScripted = Atomic(false)

    func phone(_ token: String) -> Phone? { state.withLock { $0.phones[token] } }

    var tokens: [String] { state.withLock { $0.phones.keys.sorted() } }

    /// Changes a device; creates it if necessary.
    /// - Returns: The result of `body`, or `nil` if there are too many devices.
    func change<T>(_ token: String, _ body: (inout Phone) -> T) -> T? {
      isScripted.store(true, ordering: .releasing)
      return state.withLock { state in
        guard state.phones.count < Self.maxPhones || state.phones[token] != nil else { return nil }
        return body(&state.phones[token, default: Phone()])
      }
    }

    @discardableResult
    func forget(_ token: String) -> Bool { state.withLock { $0.phones.removeValue(forKey: token) != nil } }

    func reset() { state.withLock { $0 = State() } }

    func take(
      _ notification: Notification, id: String, payload: [UInt8], settings: Settings, now: Timestamp
    ) throws(Refusal) -> Phone.Delivery {
      let token = notification.token
      guard isScripted.load(ordering: .acquiring) || settings.mostPerDevice != nil else {
        guard Checks.isToken(token, digits: settings.tokenDigits...settings.tokenDigits) else {
          throw Refusal(.badDeviceToken)
        }
        return .shown
      }
      let received = Received(
        id: id, bundle: notification.bundle, collapseID: notification.collapseID,
        expiration: notification.expiration, time: now, payload: payload)
      let result = state.withLock { state in
        state.take(received, token: token, settings: settings, now: now)
      }
      return try result.get()
    }
  }
}

extension AppleSimulator.Shelf.State {
  mutating func take(
    _ received: AppleSimulator.Received, token: String, settings: AppleSimulator.Settings, now: Timestamp
  ) -> Result<AppleSimulator.Phone.Delivery, AppleSimulator.Refusal> {
    let isKnown = phones[token] != nil
    let digits = isKnown ? 2...AppleSimulator.maxTokenLength : settings.tokenDigits...settings.tokenDigits
    guard AppleSimulator.Checks.isToken(token, digits: digits) else { return .failure(.init(.badDeviceToken)) }
    if let refusal = phones[token]?.refusal(of: received.bundle, in: settings.environment) { return .failure(refusal) }
    if let max = settings.mostPerDevice, !count(token, max: max, now: now) {
      return .failure(.init(.tooManyRequests))
    }
    return .success(phones[token]?.take(received, for: received.bundle, now: now) ?? .shown)
  }

  /// - Returns: `false` if the device has received the maximum for this minute.
  private mutating func count(_ token: String, max: Int, now: Timestamp) -> Bool {
    if minutes.count >= AppleSimulator.Shelf.maxCounted, minutes[token] == nil {
      minutes = minutes.filter { !$0.value.isOver(now) }
      // If all counts are recent and the list is full, all counts start again at 0.
      if minutes.count >= AppleSimulator.Shelf.maxCounted { minutes = [:] }
    }
    var minute = minutes[token] ?? .init(began: now, count: 0)
    if minute.isOver(now) { minute = .init(began: now, count: 0) }
    minute.count += 1
    minutes[token] = minute
    return minute.count <= max
  }
}
