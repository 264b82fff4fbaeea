// SPDX-License-Identifier: Apache-2.0
import RelayCluster
import SeededRandom
import Testing

@Suite struct LogRecordTests {
  static let records: [LogRecord] = [
    .rows(5, term: 3, [0, 255]), .noop(1), .term(9, 4), .schema(2, "0.1.0"),
    LogRecord(sequence: 7, term: 2, gid: "t", time: .milliseconds(1_700_000_000_123), content: .noop),
    LogRecord(sequence: 7, term: 2, gid: "t", time: .milliseconds(253_402_300_799_999), content: .noop),
    .rows(
      1 << 63 - 1, term: 1 << 63 - 1, gid: String(repeating: "g", count: 64),
      [UInt8](repeating: 7, count: LogRecord.maxBody)),
  ]

  @Test(arguments: records) func `a record is parsed as it was written`(_ record: LogRecord) throws {
    #expect(try LogRecord(sequence: record.sequence, headers: record.headers, body: record.body) == record)
    #expect(
      try LogRecord(sequence: record.sequence, headers: record.headers.reversed(), body: record.body) == record)
  }

  @Test func `a record expects the sequence before its own, also 0`() {
    let field = HeaderField("Nats-Expected-Last-Sequence", "0")
    #expect(LogRecord.rows(1).headers.contains(field))
    #expect(LogRecord.rows(1).headers.contains(HeaderField("Nats-Msg-Id", "g1")))
  }

  struct Hostile: Sendable, CustomTestStringConvertible {
    let name: String
    let record: LogRecord
    var body: [UInt8]?
    let code: RecordError.Code
    var header: RecordHeader?
    let change: @Sendable (inout [HeaderField]) -> Void

    var testDescription: String { name }
  }

  /// A record whose header has another value.
  private static func changed(
    _ header: RecordHeader, _ value: String, _ record: LogRecord
  ) -> Hostile {
    Hostile(name: "\(header) \(value.prefix(30))", record: record, code: .invalidHeader, header: header) { fields in
      fields.removeAll { $0.name == header.rawValue }
      fields.append(HeaderField(header.rawValue, value))
    }
  }

  private static func without(_ header: RecordHeader, _ record: LogRecord) -> Hostile {
    Hostile(name: "without \(header)", record: record, code: .missingHeader, header: header) { fields in
      fields.removeAll { $0.name == header.rawValue }
    }
  }

  private static let invalidValues: [(RecordHeader, [String], LogRecord)] = [
    (.term, ["", "0", "-1", "+1", "01", " 1", "1 ", "1.0", "0x1", "18446744073709551616", "\u{661}"], .rows(5)),
    (.kind, ["", "row", "Rows", "rows\0"], .rows(5)),
    (.gid, ["", "a b", "a\n", "\u{e9}", String(repeating: "g", count: 65)], .rows(5)),
    (.expected, ["", "5", "3", "04"], .rows(5)),
    (.messageID, ["", "g6"], .rows(5)),
    (.time, ["", "-1", "1.5", "01", "253402300800000", "9223372036854775807"], .rows(5)),
    (.leaderURL, ["", "b.example", "ftp://b", "http://a b", "http://\u{e9}"], .term(9, 4)),
    (.leaderURL, ["http://" + String(repeating: "b", count: 250)], .term(9, 4)),
    (.schema, ["", "a b", String(repeating: "s", count: 65)], .schema(2, "x")),
  ]

  static let hostileValues: [Hostile] = invalidValues.flatMap { header, values, record in
    values.map { changed(header, $0, record) }
  }

  static let missing: [Hostile] =
    [RecordHeader.term, .kind, .gid, .messageID, .expected, .time].map { without($0, .rows(5)) }
    + [without(.leader, .term(9, 4)), without(.leaderURL, .term(9, 4)), without(.schema, .schema(2, "x"))]

  static let hostile: [Hostile] = [
    Hostile(name: "no header", record: .rows(5), code: .missingHeader, header: .term) { $0 = [] },
    Hostile(name: "an unknown header", record: .rows(5), code: .unknownHeader) {
      $0.append(HeaderField("Kin", "rows"))
    },
    Hostile(name: "another spelling", record: .rows(5), code: .unknownHeader) { $0.append(HeaderField("term", "1")) },
    Hostile(name: "a repeated header", record: .rows(5), code: .repeatedHeader, header: .gid) {
      $0.append(HeaderField("Gid", "g5"))
    },
    Hostile(name: "too many headers", record: .rows(5), code: .tooManyHeaders) { fields in
      fields += (0..<12).map { HeaderField("X\($0)", "") }
    },
    Hostile(name: "a leader of rows", record: .rows(5), code: .unexpectedHeader, header: .leader) {
      $0.append(HeaderField("Leader-Name", "b"))
    },
    Hostile(name: "rows without a body", record: .rows(5), body: [], code: .invalidBody) { _ in },
    Hostile(name: "a noop with a body", record: .noop(5), body: [1], code: .invalidBody) { _ in },
    Hostile(
      name: "too large", record: .rows(5), body: [UInt8](repeating: 1, count: LogRecord.maxBody + 1), code: .invalidBody
    ) { _ in },
  ]

  @Test(arguments: hostileValues + missing + hostile)
  func `an invalid record is an error with its sequence`(_ hostile: Hostile) {
    var headers = hostile.record.headers
    hostile.change(&headers)
    let sequence = hostile.record.sequence
    let error = RecordError(sequence: sequence, code: hostile.code, header: hostile.header)
    #expect(throws: error) {
      try LogRecord(sequence: sequence, headers: headers, body: hostile.body ?? hostile.record.body)
    }
    #expect("\(error)".hasPrefix("record \(sequence) of the log is not valid: \(hostile.code)"))
  }

  @Test(arguments: 1...4) func `random headers are an error or the same record`(_ seed: Int) {
    var random = SeededGenerator(seed: seed)
    for _ in 0..<5_000 {
      let record = random.one(of: Array(Self.records.dropLast()))
      var fields = record.headers
      for _ in 0...random.below(2) {
        let at = random.below(fields.count)
        switch random.below(3) {
        case 0: fields[at] = HeaderField(fields[at].name, random.one(of: ["", "1", "noop", "g5", "x y", "http://x"]))
        case 1: fields[at] = HeaderField(random.one(of: RecordHeader.allCases).rawValue, fields[at].value)
        default: fields.append(random.one(of: fields))
        }
      }
      if let parsed = try? LogRecord(sequence: record.sequence, headers: fields, body: record.body) {
        #expect(Set(parsed.headers) == Set(fields))
      }
    }
  }

  @Test func `a record has whole milliseconds`() {
    func time(_ time: Duration) -> Duration {
      LogRecord(sequence: 1, term: 1, gid: "g", time: time, content: .noop).time
    }
    #expect(time(.microseconds(1_999)) == .milliseconds(1))
    #expect(time(.seconds(-5)) == .zero)
  }

  @Test func `a leader's name has no dot, because subjects contain it`() {
    #expect(Leader(name: "node-1_a", url: "http://x") != nil)
    for name in ["", "a.b", "a b", "a*", ">", String(repeating: "n", count: 65)] {
      #expect(Leader(name: name, url: "http://x") == nil)
    }
  }
}

@Suite struct ClusterTextTests {
  private let hash = String(repeating: "0f", count: 32)

  @Test func `a manifest is parsed as it was written`() throws {
    let manifest = SnapshotManifest(id: "b.x1", position: .at(9, term: 2), size: 1_048_577, hash: hash)
    #expect(SnapshotManifest(text: manifest.text) == manifest)
    #expect(manifest.chunks == 3)
    let words = manifest.text.split(separator: " ").map(String.init)
    for (index, value) in [(0, "b x"), (0, "*"), (1, "-1"), (3, "x"), (4, "é"), (5, "1099511627777"), (6, "0F")] {
      var changed = words
      changed[index] = value
      #expect(SnapshotManifest(text: changed.joined(separator: " ")) == nil)
    }
    #expect(SnapshotManifest(text: "") == nil)
    #expect(SnapshotManifest(text: manifest.text + " ") == nil)
  }

  @Test(
    arguments: [
      (9, 9, .of(3, 12), true), (9, 9, .of(10, 12), true), (9, 8, .of(3, 12), false), (9, 10, .of(3, 12), false),
      (9, 9, .of(11, 12), false), (9, 9, .of(3, 8), false), (9, 9, .of(3, 12, generation: 8), false),
    ] as [(UInt64, UInt64, LogState, Bool)])
  func `a copy fits if its file has the manifest's position and the log continues`(
    _ manifest: UInt64, _ file: UInt64, _ state: LogState, _ fits: Bool
  ) {
    let manifest = SnapshotManifest(id: "b.x1", position: .at(manifest), size: 1, hash: hash)
    #expect(manifest.fits(file: .at(file), state) == fits)
  }

  @Test func `a heartbeat is parsed as it was written`() {
    let heartbeat = Heartbeat(term: 3, sequence: 17, leader: .test)
    #expect(Heartbeat(text: heartbeat.text) == heartbeat)
    let last = Heartbeat(term: 3, sequence: 17, leader: .test, isLeaving: true)
    #expect(Heartbeat(text: last.text) == last)
    #expect(last != heartbeat)
    for text in [
      "", "3 17", "3 17 b", "x 17 b http://b", "3 17 b.c http://b", "3 17 b ftp://b", heartbeat.text + " ",
      last.text + " ",
    ] {
      #expect(Heartbeat(text: text) == nil)
    }
    #expect(Heartbeat(text: "3 17 b http://" + String(repeating: "b", count: 500)) == nil)
  }
}
