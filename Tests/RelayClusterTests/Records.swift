// SPDX-License-Identifier: Apache-2.0
import RelayCluster

/// Values that several tests use.
extension LogRecord {
  /// A record whose time does not matter.
  init(sequence: UInt64, term: UInt64, gid: String, content: Content) {
    self.init(sequence: sequence, term: term, gid: gid, time: .zero, content: content)
  }

  static func rows(_ sequence: UInt64, term: UInt64 = 1, gid: String? = nil, _ body: [UInt8] = [1]) -> LogRecord {
    LogRecord(sequence: sequence, term: term, gid: gid ?? "g\(sequence)", content: .rows(body))
  }

  static func noop(_ sequence: UInt64, term: UInt64 = 1) -> LogRecord {
    LogRecord(sequence: sequence, term: term, gid: "g\(sequence)", content: .noop)
  }

  static func term(_ sequence: UInt64, _ term: UInt64, gid: String? = nil) -> LogRecord {
    LogRecord(sequence: sequence, term: term, gid: gid ?? "g\(sequence)", content: .term(.test))
  }

  static func schema(_ sequence: UInt64, _ name: String) -> LogRecord {
    LogRecord(sequence: sequence, term: 1, gid: "g\(sequence)", content: .schema(name))
  }
}

extension LeaderStep {
  mutating func begin(_ content: LogRecord.Content, gid: String) -> Action { begin(content, gid: gid, time: .zero) }
}

extension Leader {
  static let test: Leader = {
    guard let leader = Leader(name: "b", url: "https://b.example:8443") else {
      preconditionFailure("the name and the URL are valid")
    }
    return leader
  }()
}

extension LogPosition {
  /// The position after ``LogRecord/rows(_:term:gid:_:)`` in generation 7.
  static func at(_ sequence: UInt64, term: UInt64 = 1) -> LogPosition {
    LogPosition(generation: 7, term: term, sequence: sequence, gid: sequence == 0 ? "" : "g\(sequence)")
  }
}

extension LogState {
  static func of(_ first: UInt64, _ last: UInt64, generation: Int64 = 7) -> LogState {
    LogState(generation: generation, first: first, last: last)
  }
}
