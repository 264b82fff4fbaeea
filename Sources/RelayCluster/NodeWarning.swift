// SPDX-License-Identifier: Apache-2.0

/// A state that an operator should correct, although the node follows or serves.
public enum NodeWarning: Hashable, Sendable {
  /// A stream has fewer current replicas than it should have.
  case lostReplicas(LogStream, StreamReplicas)
  /// The clock of this node minus the clock of the leader.
  case clockDiffers(Duration, leader: String)
  /// NATS makes no consumer, so that the node reads single records.
  case noConsumer(reason: String)

  /// A short name, safe as a label.
  public var code: String {
    switch self {
    case .lostReplicas: "lost_replicas"
    case .clockDiffers: "clock_differs"
    case .noConsumer: "no_consumer"
    }
  }

  /// The part of the cluster that a warning is about.
  public enum Subject: Hashable, Sendable {
    case replicas(LogStream)
    case clock, consumer
  }

  /// Two warnings about the same subject are about the same fault. Its numbers may have changed.
  var subject: Subject {
    switch self {
    case .lostReplicas(let stream, _): .replicas(stream)
    case .clockDiffers: .clock
    case .noConsumer: .consumer
    }
  }
}

extension NodeWarning: CustomStringConvertible {
  public var description: String {
    switch self {
    case .lostReplicas(let stream, let replicas):
      "the stream of the \(stream.name) has \(replicas.current) of \(replicas.configured) current replicas"
        + (replicas.missing.isEmpty ? "" : ". Not current: " + replicas.missing.joined(separator: ", "))
        + ". Check that these NATS servers run, reach each other, and have space on their disks. Restart a server whose "
        + "disk was full"
    case .clockDiffers(let difference, let leader):
      "the clock of this node is \(difference.magnitude.seconds) s \(difference < .zero ? "behind" : "ahead of") "
        + "the clock of the leader \(leader). Synchronize the clocks of all nodes: at least one of the two is wrong"
    case .noConsumer(let reason): "NATS makes no consumer, so the node reads single records: \(reason)"
    }
  }
}

extension LogStream {
  fileprivate var name: String { self == .log ? "log" : "snapshots" }
}

extension Duration {
  var magnitude: Duration { self < .zero ? .zero - self : self }
  /// The seconds, with one digit after the point.
  fileprivate var seconds: Double { (Double(wholeMilliseconds) / 100).rounded() / 10 }
}

/// The warnings that a node has reported. Pure: it decides the lines of the operator's log.
public struct ReportedWarnings: Sendable {
  private var reported: [NodeWarning] = []

  public init() {}

  /// Returns the events of a change.
  public mutating func update(_ health: NodeHealth) -> [NodeEvent] { update(health.warnings, unknown: health.unknown) }

  /// Returns the events of a change. A fault whose numbers have changed is reported again, except for the clock. A
  /// fault has not ended while its subject is unknown.
  mutating func update(_ present: [NodeWarning], unknown: Set<NodeWarning.Subject> = []) -> [NodeEvent] {
    let begun = present.filter { warning in
      guard let old = reported.first(where: { $0.subject == warning.subject }) else { return true }
      if case .lostReplicas = warning { return old != warning }
      return false
    }
    let subjects = Set(present.map(\.subject))
    let missing = reported.filter { !subjects.contains($0.subject) }
    reported = present + missing.filter { unknown.contains($0.subject) }
    let ended = missing.filter { !unknown.contains($0.subject) }
    return begun.map { .warning($0) } + ended.map { .warningEnded($0) }
  }
}
