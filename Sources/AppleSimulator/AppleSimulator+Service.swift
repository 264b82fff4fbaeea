// SPDX-License-Identifier: Apache-2.0
// The service behind all connections: it decides about each request, with the settings, devices and faults.
import NIOHPACK
import RelayProtocol
import Synchronization

extension AppleSimulator {
  /// The state that all connections share. Safe to use from any thread.
  final class Service: Sendable {
    let shelf = Shelf()
    private let settings: Mutex<Settings>
    private let script = Mutex(FaultScript())
    private let updates = Mutex(TokenUpdates())
    private let clock: @Sendable () -> Timestamp
    /// Increments with each change of the settings, so that a thread can detect a change without the lock.
    let generation = Atomic(0)
    private let hasFaults = Atomic(false)
    private let lastArrival = Atomic<UInt64>(0)
    private let lastConnection = Atomic(0)
    /// The number of open connections.
    let openConnections = Atomic(0)

    init(_ settings: Settings, clock: @escaping @Sendable () -> Timestamp) {
      self.settings = Mutex(settings)
      self.clock = clock
    }

    var currentSettings: Settings { settings.withLock { $0 } }

    func change<T: Sendable, Failure: Error>(
      _ body: (inout Settings) throws(Failure) -> T
    ) throws(Failure) -> T {
      defer { generation.add(1, ordering: .releasing) }
      return try settings.withLock { settings throws(Failure) in try body(&settings) }
    }

    var faults: [Fault] { script.withLock { $0.faults } }

    func setFaults(_ faults: [Fault]) {
      script.withLock { $0.replace(by: faults) }
      hasFaults.store(!faults.isEmpty, ordering: .releasing)
    }

    func fault(of token: String) -> Fault.Action? {
      guard hasFaults.load(ordering: .acquiring) else { return nil }
      return script.withLock { $0.strike(token) }
    }

    func now(_ settings: Settings) -> Timestamp { clock() + settings.clockOffset }

    func nextArrival() -> UInt64 { lastArrival.add(1, ordering: .relaxed).newValue }
    func nextConnection() -> Int { lastConnection.add(1, ordering: .relaxed).newValue }

    func isWelcome(_ text: String, _ token: ProviderToken, settings: Settings) -> Bool {
      guard settings.countsUpdatesAcrossConnections else { return true }
      return updates.withLock { $0.note(text, keyID: token.keyID, issued: token.issued) }
    }

    /// Removes all devices, faults and tokens.
    func reset() {
      shelf.reset()
      setFaults([])
      updates.withLock { $0 = TokenUpdates() }
    }
  }

  /// The decision about a request.
  struct Decision {
    var outcome = Arrival.Outcome.shown
    var id: String
    var keyID: String?
    var fault: Fault.Action?
  }
}

extension AppleSimulator.Service {
  /// - Parameters:
  ///   - body: The whole body, or its first bytes as described at ``AppleSimulator/Checks/maxPayload``.
  ///   - newID: Makes the id of a request without `apns-id`.
  func decide(
    _ head: AppleSimulator.Head, body: [UInt8], credential: inout AppleSimulator.Credential,
    settings: AppleSimulator.Settings, now: Timestamp, newID: () -> String
  ) -> AppleSimulator.Decision {
    let id = head.id.flatMap { $0.isLowercaseUUID ? $0 : nil } ?? newID()
    var decision = AppleSimulator.Decision(id: id)
    do throws(AppleSimulator.Refusal) {
      decision.outcome = try outcome(
        head, body: body, credential: &credential, settings: settings, now: now, decision: &decision)
    } catch {
      decision.outcome = .refused(error)
    }
    return decision
  }

  private func outcome(
    _ head: AppleSimulator.Head, body: [UInt8], credential: inout AppleSimulator.Credential,
    settings: AppleSimulator.Settings, now: Timestamp, decision: inout AppleSimulator.Decision
  ) throws(AppleSimulator.Refusal) -> AppleSimulator.Arrival.Outcome {
    let notification: AppleSimulator.Notification
    do throws(AppleSimulator.Reason) {
      try AppleSimulator.Checks.destination(of: head)
      let (keyID, topics) = try credential.check(head.authorization, settings: settings, now: now) {
        isWelcome($0, $1, settings: settings)
      }
      decision.keyID = keyID
      decision.fault = fault(of: head.token?.lowercased() ?? "")
      if let fault = decision.fault { return fault.outcome }
      notification = try AppleSimulator.Checks.notification(
        head, payload: body, topics: settings.topics, keyTopics: topics)
    } catch {
      throw AppleSimulator.Refusal(error)
    }
    switch try shelf.take(notification, id: decision.id, payload: body, settings: settings, now: now) {
    case .shown: return .shown
    case .stored: return .stored
    case .dropped: return .dropped
    }
  }
}

extension AppleSimulator.Fault.Action {
  fileprivate var outcome: AppleSimulator.Arrival.Outcome {
    switch self {
    case .answer(let refusal): .refused(refusal)
    case .hang: .unanswered("hang")
    case .resetStream: .unanswered("resetStream")
    case .resetConnection: .unanswered("resetConnection")
    case .goAway: .unanswered("goAway")
    }
  }
}
