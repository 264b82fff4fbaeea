// SPDX-License-Identifier: Apache-2.0
import RelayCluster

/// A fault that the model must find.
enum Fault: String, CaseIterable, Sendable {
  case twoPublishes, commitsFirst, actsBeforeClaim, answersWhenDeposed, appliesLowerTerm, staleSnapshot

  /// A part of the violation's text.
  var symptom: String {
    switch self {
    case .twoPublishes, .actsBeforeClaim: "which is not in the log"
    case .commitsFirst: "ahead of the log"
    case .answersWhenDeposed: "answers too late"
    case .appliesLowerTerm, .staleSnapshot: "differs from the log"
    }
  }
}

/// A simulated node. A crash keeps only the file.
final class ModelNode {
  enum Role {
    case down
    case stopped(Alarm)
    case follower(FollowerStep, Takeover)
    case leader(LeaderStep)
  }

  /// An action for the node's next turn, or an answer that it processes then.
  enum Pending {
    case takeover(Takeover.Action)
    case leader(LeaderStep.Action)
    case published(PublishOutcome)
    case found(LogRead?)
    case inspected(LogState?)
  }

  let index: Int
  let leader: Leader
  var file = ModelFile()
  var role = Role.down
  var pending: Pending?
  /// The time before which the pending action must not run.
  var earliest: Duration = .zero
  var pausedUntil: Duration = .zero
  var heartbeats: [Heartbeat] = []
  var queue: [Int] = []
  /// The row of the open transaction.
  var open: Int?
  /// The completions of committed groups.
  var completions: [Int] = []
  var detector: PauseDetector
  var lastGroup: Duration = .zero
  var lastHeartbeat: Duration = .zero
  /// The time at which the last publish began.
  var began: PauseDetector.Reading
  /// The end of the last pause in which another node may have taken over.
  var resumed: Duration = .zero
  /// The connection to the log was lost.
  var needsCheck = true
  /// The network separates the node from the log and from the other nodes.
  var isCutOff = false
  /// A second publish in flight, for the planted fault.
  var second: (record: LogRecord, row: Int, outcome: PublishOutcome?)?

  init(_ index: Int, _ now: PauseDetector.Reading) {
    self.index = index
    guard let leader = Leader(name: "node\(index)", url: "http://node\(index)") else {
      preconditionFailure("the name is valid")
    }
    self.leader = leader
    detector = PauseDetector(now)
    began = now
  }

  /// Loses everything except the file.
  func crash() {
    role = .down
    pending = nil
    heartbeats = []
    queue = []
    open = nil
    completions = []
    second = nil
    needsCheck = true
  }

  var isLeader: Bool { if case .leader = role { true } else { false } }
  var isDown: Bool { if case .down = role { true } else { false } }
  var alarm: Alarm? { if case .stopped(let alarm) = role { alarm } else { nil } }
}
