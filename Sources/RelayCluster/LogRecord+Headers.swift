// SPDX-License-Identifier: Apache-2.0

/// The headers of a record, and their parser. Anybody who may write to the log can write any headers, so the parser
/// accepts only what ``LogRecord/headers`` writes.
///
/// No name begins with another one: cnats 3.4.1 may return the value of `Leader-URL` for a header `Leader`.
public enum RecordHeader: String, Sendable, CaseIterable {
  case term = "Term"
  case kind = "Kind"
  case gid = "Gid"
  /// See ``LogRecord/time``.
  case time = "Time"
  /// The log drops a second record with the same value for some time.
  case messageID = "Nats-Msg-Id"
  /// Written by hand: cnats 3.4.1 does not send an expected sequence of 0.
  case expected = "Nats-Expected-Last-Sequence"
  /// Only in records of kind `term`.
  case leader = "Leader-Name"
  case leaderURL = "Leader-URL"
  /// Only in records of kind `schema`.
  case schema = "Schema"
}

public struct HeaderField: Hashable, Sendable {
  public let name: String
  public let value: String

  public init(_ name: String, _ value: String) {
    self.name = name
    self.value = value
  }
}

/// A record that is not a valid record of this version.
public struct RecordError: Error, Hashable, Sendable {
  public enum Code: String, Sendable {
    case tooManyHeaders, unknownHeader, repeatedHeader, missingHeader, invalidHeader, unexpectedHeader, invalidBody
  }

  public let sequence: UInt64
  public let code: Code
  /// The header. Is `nil` if the fault is in the body, or in a header whose name this version does not know.
  public let header: RecordHeader?

  public init(sequence: UInt64, code: Code, header: RecordHeader? = nil) {
    self.sequence = sequence
    self.code = code
    self.header = header
  }
}

extension RecordError: CustomStringConvertible {
  public var description: String {
    "record \(sequence) of the log is not valid: \(code.rawValue)" + (header.map { " \($0.rawValue)" } ?? "")
  }
}

extension LogRecord {
  static let maxHeaders = 16
  static let maxGid = 64
  static let maxSchema = 64
  /// The last millisecond of the year 9999.
  static let maxTime: UInt64 = 253_402_300_799_999

  /// The headers to publish.
  public var headers: [HeaderField] {
    func field(_ header: RecordHeader, _ value: String) -> HeaderField { HeaderField(header.rawValue, value) }
    let common = [
      field(.term, "\(term)"), field(.kind, kind.rawValue), field(.gid, gid), field(.messageID, gid),
      field(.expected, "\(sequence - 1)"), field(.time, "\(time.wholeMilliseconds)"),
    ]
    return switch content {
    case .term(let leader): common + [field(.leader, leader.name), field(.leaderURL, leader.url)]
    case .schema(let name): common + [field(.schema, name)]
    case .rows, .noop: common
    }
  }

  /// Parses a stored record.
  public init(sequence: UInt64, headers: [HeaderField], body: [UInt8]) throws(RecordError) {
    var fields = try Fields(sequence: sequence, headers: headers)
    let term = try fields.number(.term, in: 1...UInt64(Int64.max))
    let kind = try fields.parse(.kind) { Kind(rawValue: $0) }
    let gid = try fields.parse(.gid) { $0.isIdentifier(maxLength: Self.maxGid) ? $0 : nil }
    _ = try fields.parse(.messageID) { $0 == gid ? $0 : nil }
    // A publisher without compare-and-set is not a node.
    _ = try fields.parse(.expected) { $0.strictNumber() == sequence &- 1 ? $0 : nil }
    let time = try fields.number(.time, in: 0...Self.maxTime)
    let content: Content
    switch kind {
    case .term:
      let name = try fields.take(.leader)
      content = .term(try fields.parse(.leaderURL) { Leader(name: name, url: $0) })
    case .schema:
      content = .schema(try fields.parse(.schema) { $0.isIdentifier(maxLength: Self.maxSchema) ? $0 : nil })
    case .rows: content = .rows(body)
    case .noop: content = .noop
    }
    try fields.checkEnd()
    let sizes = kind == .rows ? 1...Self.maxBody : 0...0
    guard sizes.contains(body.count) else { throw RecordError(sequence: sequence, code: .invalidBody) }
    self.init(sequence: sequence, term: term, gid: gid, time: .milliseconds(Int64(time)), content: content)
  }
}

/// The known headers of one record, each of them at most once.
private struct Fields {
  let sequence: UInt64
  var values: [RecordHeader: String] = [:]

  init(sequence: UInt64, headers: [HeaderField]) throws(RecordError) {
    self.sequence = sequence
    guard headers.count <= LogRecord.maxHeaders, sequence > 0 else {
      throw RecordError(sequence: sequence, code: .tooManyHeaders)
    }
    for field in headers {
      guard let header = RecordHeader(rawValue: field.name) else {
        throw RecordError(sequence: sequence, code: .unknownHeader)
      }
      guard values.updateValue(field.value, forKey: header) == nil else {
        throw RecordError(sequence: sequence, code: .repeatedHeader, header: header)
      }
    }
  }

  mutating func take(_ header: RecordHeader) throws(RecordError) -> String {
    guard let value = values.removeValue(forKey: header) else {
      throw RecordError(sequence: sequence, code: .missingHeader, header: header)
    }
    return value
  }

  mutating func parse<Value>(_ header: RecordHeader, _ parse: (String) -> Value?) throws(RecordError) -> Value {
    guard let value = parse(try take(header)) else {
      throw RecordError(sequence: sequence, code: .invalidHeader, header: header)
    }
    return value
  }

  mutating func number(_ header: RecordHeader, in range: ClosedRange<UInt64>) throws(RecordError) -> UInt64 {
    try parse(header) { $0.strictNumber().flatMap { range.contains($0) ? $0 : nil } }
  }

  /// Throws if a header is left that does not belong to the record's kind.
  func checkEnd() throws(RecordError) {
    if let header = values.keys.min(by: { $0.rawValue < $1.rawValue }) {
      throw RecordError(sequence: sequence, code: .unexpectedHeader, header: header)
    }
  }
}
