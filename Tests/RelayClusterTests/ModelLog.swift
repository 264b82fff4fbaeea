// SPDX-License-Identifier: Apache-2.0
import RelayCluster
import SeededRandom

/// A violated invariant.
struct Violation: Error, CustomStringConvertible {
  let description: String
  init(_ description: String) { self.description = description }
}

/// A simulated log, and the state to which its records lead.
///
/// A row is a number, and a record contains one of them. So the reference is a set of numbers, and a hash for each
/// sequence.
struct ModelLog {
  static let generation: Int64 = 7

  /// All records that were ever stored and not lost, from sequence 1.
  private(set) var records: [LogRecord] = []
  private(set) var first: UInt64 = 1
  /// The publishes that the log receives later.
  var late: [LogRecord] = []
  /// The ids that the log recognizes.
  private var known: [String: UInt64] = [:]
  /// The rows of the valid records.
  private(set) var rows: Set<Int> = []
  /// The hash and the term after each sequence, from 0.
  private(set) var hashes: [UInt64] = [0]
  private(set) var terms: [UInt64] = [0]
  private(set) var doubled: Int?

  var last: UInt64 { UInt64(records.count) }
  var state: LogState { LogState(generation: Self.generation, first: first, last: last) }
  var term: UInt64 { terms[records.count] }

  func read(_ sequence: UInt64) -> LogRead {
    sequence >= first && sequence <= last && sequence > 0 ? .record(records[Int(sequence) - 1]) : .missing
  }

  mutating func store(_ record: LogRecord) -> PublishOutcome {
    if let sequence = known[record.gid] { return .stored(sequence) }
    guard record.sequence == last + 1 else { return .rejected }
    known[record.gid] = record.sequence
    records.append(record)
    fold(record)
    return .stored(record.sequence)
  }

  private mutating func fold(_ record: LogRecord) {
    var (hash, term) = (hashes[hashes.count - 1], terms[terms.count - 1])
    if record.term >= term {
      if record.kind == .term { term = record.term }
      if let row = record.row {
        if !rows.insert(row).inserted { doubled = row }
        hash ^= rowHash(row)
      }
    }
    hashes.append(hash)
    terms.append(term)
  }

  mutating func forgetIDs() { known = [:] }

  mutating func truncate(below sequence: UInt64) { first = max(first, min(sequence, last + 1)) }

  mutating func loseTail(_ count: Int) {
    let kept = records.prefix(max(0, records.count - count))
    (records, rows, hashes, terms, known) = ([], [], [0], [0], [:])
    for record in kept {
      records.append(record)
      fold(record)
    }
  }
}

extension LogRecord {
  /// The number in a record of kind `rows`.
  var row: Int? { if case .rows(let body) = content { Int(String(decoding: body, as: UTF8.self)) } else { nil } }
}

func rowHash(_ row: Int) -> UInt64 {
  var generator = SeededGenerator(seed: row)
  return generator.next()
}

/// The file of a simulated node.
struct ModelFile {
  var position = LogPosition()
  var rows: Set<Int> = []
  var hash: UInt64 = 0

  /// Returns false if the row exists already.
  mutating func insert(_ row: Int) -> Bool {
    hash ^= rowHash(row)
    return rows.insert(row).inserted
  }
}
