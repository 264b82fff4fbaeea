// SPDX-License-Identifier: Apache-2.0
import RelayDelivery
import RelayGateways
import RelayProtocol
import Synchronization

/// Records the pushes that it receives, and gives the configured answer for each token. Any thread.
final class RecordingGateway: Gateway {
  enum Answer: Hashable, Sendable {
    case sent
    case retry(after: Duration?)
    /// No answer until ``letGo(_:)``.
    case none
    case forget
    case dead
  }

  struct Handed: Sendable {
    var push: Push
    var phonePush: PhonePush
    var device: Device
    var time: Timestamp
    let answer: Answer

    /// True if the phone may have received the push: a push without an answer may have been sent.
    var isPerhapsShown: Bool { answer == .sent || answer == .none }
  }

  private struct State {
    var answers: [String: Answer] = [:]
    var handed: [Handed] = []
    /// The newest alert of each message, by the user and the message. Only for planted faults.
    var alerts: [UserID: [MessageReference: DigestSubject]] = [:]
    var waiting: [(id: String, answer: CheckedContinuation<PushOutcome, Never>)] = []
  }

  /// The delay is not random, so that a seed always has the same run.
  let retryPolicy = RetryPolicy(minDelay: .seconds(20), maxDelay: .seconds(20))

  private let state = Mutex(State())
  private let clock: VirtualClock
  private let fuse: Mutex<Fuse?> = Mutex(nil)
  private let fault: Fault?

  init(clock: VirtualClock, fault: Fault?) {
    self.clock = clock
    self.fault = fault
  }

  /// Sets the fuse of the relay that sends pushes from now on.
  func serve(_ fuse: Fuse) { self.fuse.withLock { $0 = fuse } }

  func answer(_ answer: Answer, to token: String) { state.withLock { $0.answers[token] = answer } }

  func send(_ phonePush: PhonePush, to device: Device, noting log: AttemptLog) async -> PushOutcome {
    guard let push = try? Push(phonePush) else { return .dead(.payloadTooLarge) }
    let isTaken = fuse.withLock { $0 }?.takesPush() ?? true
    guard isTaken else { return .retry(after: nil, .serviceUnavailable) }
    let answer = state.withLock { state in
      let answer = state.answers[device.token] ?? .sent
      let handed = Handed(push: push, phonePush: phonePush, device: device, time: clock.now, answer: answer)
      if fault != nil, case .alert(let digest) = phonePush.content {
        state.alerts[phonePush.recipient, default: [:]][digest.newest.message] = digest
      }
      let alerts = state.alerts[phonePush.recipient] ?? [:]
      state.handed += fault?.handed(handed) { alerts[$0] } ?? [handed]
      return answer
    }
    switch answer {
    case .sent: return .sent(.shown)
    case .retry(let after): return .retry(after: after, .serviceUnavailable)
    case .forget: return .forgetDevice(.badDeviceToken)
    case .dead: return .dead(.payloadEmpty)
    case .none:
      return await withCheckedContinuation { continuation in
        state.withLock { $0.waiting.append((push.id, continuation)) }
      }
    }
  }

  /// The ids of pushes that wait for an answer.
  var waiting: Set<String> { state.withLock { Set($0.waiting.map(\.id)) } }

  /// Gives this answer to all waiting pushes.
  func letGo(_ outcome: PushOutcome) {
    let waiting = state.withLock { state in
      defer { state.waiting = [] }
      return state.waiting
    }
    for (_, answer) in waiting { answer.resume(returning: outcome) }
  }

  /// Returns the pushes that were received since the last call.
  func takeHanded() -> [Handed] {
    state.withLock { state in
      defer { state.handed = [] }
      return state.handed
    }
  }
}
