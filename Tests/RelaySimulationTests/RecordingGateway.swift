// SPDX-License-Identifier: Apache-2.0
import RelayDelivery
import RelayGateways
import RelayProtocol
import Synchronization

/// Keeps what it is handed, and answers for each token as it is told. Any thread.
final class RecordingGateway: Gateway {
  enum Answer: Hashable, Sendable {
    case sent
    case retry(after: Duration?)
    /// It says nothing until ``letGo(_:)``.
    case none
    case forget
    case dead
  }

  struct Handed: Sendable {
    var push: Push
    var device: Device
    var time: Timestamp
    let answer: Answer

    /// What has no answer may have been taken.
    var isPerhapsShown: Bool { answer == .sent || answer == .none }
  }

  private struct State {
    var answers: [String: Answer] = [:]
    var handed: [Handed] = []
    var waiting: [(id: String, answer: CheckedContinuation<PushOutcome, Never>)] = []
  }

  /// Without chance, so that the same seed has the same course.
  let retryPolicy = RetryPolicy(shortest: .seconds(20), longest: .seconds(20))

  private let state = Mutex(State())
  private let clock: VirtualClock
  private let fuse: Mutex<Fuse?> = Mutex(nil)
  private let fault: Fault?

  init(clock: VirtualClock, fault: Fault?) {
    self.clock = clock
    self.fault = fault
  }

  /// The fuse of the relay that hands over from now on.
  func serve(_ fuse: Fuse) { self.fuse.withLock { $0 = fuse } }

  func answer(_ answer: Answer, to token: String) { state.withLock { $0.answers[token] = answer } }

  func send(_ push: Push, to device: Device, noting log: AttemptLog) async -> PushOutcome {
    let isTaken = fuse.withLock { $0 }?.takesPush() ?? true
    guard isTaken else { return .retry(after: nil, .serviceUnavailable) }
    let answer = state.withLock { state in
      let answer = state.answers[device.token] ?? .sent
      let handed = Handed(push: push, device: device, time: clock.now, answer: answer)
      state.handed += fault?.handed(handed) ?? [handed]
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

  /// Gives all that wait this answer.
  func letGo(_ outcome: PushOutcome) {
    let waiting = state.withLock { state in
      defer { state.waiting = [] }
      return state.waiting
    }
    for (_, answer) in waiting { answer.resume(returning: outcome) }
  }

  /// What was handed over since the last call.
  func takeHanded() -> [Handed] {
    state.withLock { state in
      defer { state.handed = [] }
      return state.handed
    }
  }
}
