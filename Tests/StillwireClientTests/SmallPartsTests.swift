// SPDX-License-Identifier: Apache-2.0
// Tests the small types of the Swift client: silence, token renewal, receipts, Focus reports, addresses and errors.
import NIOCore
import RelayJSON
import RelayProtocol
import Testing

@testable import StillwireClient
@testable import StillwireExtension

@Suite struct SilenceTests {
  private static func silence(ofSeveral areSeveral: Bool, pongTimeout: Duration = .seconds(10)) -> Silence {
    Silence(heartbeat: .seconds(25), pongTimeout: pongTimeout, areSeveral: areSeveral, at: .zero)
  }

  struct Row: Sendable {
    var name: String
    var areSeveral = true
    var pongTimeout = 10
    /// The time of the oldest request without a reply, in seconds, and the size of all.
    var asked: Int?
    var size = 100
    var ping: Int
    var end: Int
  }

  static let table = [
    Row(name: "one address", areSeveral: false, ping: 25, end: 35),
    Row(name: "one address, and a request", areSeveral: false, asked: 1, ping: 25, end: 35),
    Row(name: "no request", ping: 25, end: 29),
    Row(name: "a request", asked: 1, ping: 4, end: 5),
    Row(name: "a request after half of the heartbeat", asked: 12, ping: 15, end: 16),
    Row(name: "a request shortly before the heartbeat", asked: 24, ping: 25, end: 28),
    Row(name: "a request before the newest frame", asked: -9, ping: 3, end: 4),
    Row(name: "a short pongTimeout", pongTimeout: 2, ping: 25, end: 27),
    Row(name: "a large request, which takes time to arrive", asked: 0, size: 50_000, ping: 3, end: 11),
  ]

  @Test(arguments: table.indices) func `the client sends a ping after a silence, and then closes the connection`(
    _ index: Int
  ) {
    let row = Self.table[index]
    var silence = Self.silence(ofSeveral: row.areSeveral, pongTimeout: .seconds(row.pongTimeout))
    let waiting = row.asked.map { Silence.Waiting(since: .seconds($0), size: row.size) }
    for (seconds, step) in [(row.ping, Silence.Step.ping), (row.end, .giveUp)] {
      let at = Duration.seconds(seconds)
      #expect(silence.due(waiting) == at, "\(row.name)")
      #expect(silence.timePassed(at: at - .milliseconds(1), waiting) == nil, "\(row.name)")
      #expect(silence.timePassed(at: at, waiting) == step, "\(row.name)")
    }
  }

  struct Stream: Sendable {
    var name: String
    var areSeveral = true
    var pongTimeout = Duration.seconds(10)
    /// When bytes arrive, in milliseconds.
    var bytes: [Int]
    var ping: Int
    var end: Int
  }

  static let streams = [
    Stream(name: "a stream of 5 s", bytes: [1_000, 2_000, 3_000, 4_000, 5_000], ping: 6_000, end: 9_000),
    Stream(name: "a stream that ends early", bytes: [1_000, 2_000, 3_000, 4_000], ping: 29_000, end: 33_000),
    Stream(
      name: "a pause in the stream", bytes: [1_000, 2_000, 3_001, 4_000, 5_000, 6_000, 7_000, 8_000], ping: 33_000,
      end: 37_000),
    Stream(
      name: "5 s after a pause", bytes: [1_001, 2_000, 3_000, 4_000, 5_000, 6_000, 6_001], ping: 7_001, end: 10_001),
    Stream(
      name: "one address", areSeveral: false, bytes: [1_000, 2_000, 3_000, 4_000, 5_000], ping: 30_000, end: 40_000),
    Stream(
      name: "a pongTimeout of 3.5 s", pongTimeout: .seconds(3.5), bytes: [1_000, 2_000, 3_000, 4_000, 5_000],
      ping: 6_000, end: 9_000),
    Stream(
      name: "a pongTimeout of 2 s", pongTimeout: .seconds(2), bytes: [1_000, 2_000, 3_000, 4_000, 5_000], ping: 6_000,
      end: 8_000),
  ]

  @Test(arguments: streams.indices) func `a pause in a steady stream starts a ping`(_ index: Int) {
    let stream = Self.streams[index]
    var silence = Self.silence(ofSeveral: stream.areSeveral, pongTimeout: stream.pongTimeout)
    for time in stream.bytes { silence.received(at: .milliseconds(time)) }
    for (time, step) in [(stream.ping, Silence.Step.ping), (stream.end, .giveUp)] {
      #expect(silence.due(nil) == .milliseconds(time), "\(stream.name)")
      #expect(silence.timePassed(at: .milliseconds(time - 1), nil) == nil, "\(stream.name)")
      #expect(silence.timePassed(at: .milliseconds(time), nil) == step, "\(stream.name)")
    }
  }

  @Test func `a ping long after a steady stream has the usual time`() {
    var silence = Self.silence(ofSeveral: true)
    for time in 0...8 { silence.received(at: .seconds(time)) }
    #expect(silence.timePassed(at: .seconds(100), nil) == .ping)
    #expect(silence.due(nil) == .seconds(104))
  }

  @Test func `a pause in a steady stream costs one ping`() {
    var silence = Self.silence(ofSeveral: true)
    for time in 0...8 { silence.received(at: .seconds(time)) }
    #expect(silence.timePassed(at: .seconds(9), nil) == .ping)
    silence.received(at: .milliseconds(9_100))
    #expect(silence.due(nil) == .milliseconds(34_100))
  }

  @Test func `each byte of a frame ends the silence`() {
    var silence = Self.silence(ofSeveral: false)
    _ = silence.timePassed(at: .seconds(25), nil)
    silence.received(at: .seconds(30))
    #expect(silence.timePassed(at: .seconds(54), nil) == nil)
    #expect(silence.timePassed(at: .seconds(55), nil) == .ping)
  }

  @Test func `a probe is sent once, and a silent relay has a second for its answer`() {
    let waiting = Silence.Waiting(since: .zero)
    var silence = Self.silence(ofSeveral: true)
    #expect(silence.probe(at: .seconds(1)) == true)
    #expect(silence.probe(at: .seconds(1)) == false)
    #expect(silence.due(waiting) == .seconds(4))
    var late = Self.silence(ofSeveral: true)
    _ = late.probe(at: .milliseconds(3_900))
    #expect(late.due(waiting) == .milliseconds(4_900))
  }

  @Test func `after a pause of the process, the client reads the frames that have arrived`() {
    let waiting = Silence.Waiting(since: .zero)
    var silence = Self.silence(ofSeveral: true)
    #expect(silence.timePassed(at: .seconds(60), waiting) == .ping)
    #expect(silence.timePassed(at: .seconds(120), waiting) == nil)
    #expect(silence.due(waiting) == .seconds(121))
    silence.received(at: .milliseconds(120_500))
    #expect(silence.timePassed(at: .milliseconds(123_500), waiting) == .ping)
    #expect(silence.timePassed(at: .seconds(180), waiting) == nil)
    #expect(silence.timePassed(at: .seconds(240), waiting) == .giveUp)
  }
}

@Suite struct FramePartsTests {
  /// A frame with a payload of zeros.
  private static func frame(_ opcode: UInt8, _ count: Int, isMasked: Bool = false) -> [UInt8] {
    let mask: UInt8 = isMasked ? 0x80 : 0
    let length: [UInt8] =
      switch count {
      case ..<126: [mask | UInt8(count)]
      case ..<65_536: [mask | 126] + (0..<2).reversed().map { UInt8(truncatingIfNeeded: count >> ($0 * 8)) }
      default: [mask | 127] + (0..<8).reversed().map { UInt8(truncatingIfNeeded: count >> ($0 * 8)) }
      }
    return [0x80 | opcode] + length + Array(repeating: 0, count: count + (isMasked ? 4 : 0))
  }

  private static func read(_ pieces: [ArraySlice<UInt8>]) -> [Bool] {
    var parts = FrameParts()
    return pieces.map { parts.read(ByteBuffer(bytes: $0)) }
  }

  @Test(arguments: [0, 1, 125, 126, 65_535, 65_536], [false, true])
  func `each byte of a data frame is a part, except the last one`(_ count: Int, _ isMasked: Bool) {
    let text = Self.frame(1, count, isMasked: isMasked)
    let bytes = text + text
    let found = Self.read(bytes.indices.map { bytes[$0...$0] })
    let expected = bytes.indices.map { ($0 + 1) % text.count != 0 }
    #expect(found == expected)
  }

  @Test func `complete frames in one read are no part`() {
    let bytes = Self.frame(1, 10) + Self.frame(9, 5) + Self.frame(1, 300)
    #expect(Self.read([bytes[...]]) == [false])
  }

  @Test func `a part of a frame after a complete one is a part`() {
    let bytes = Self.frame(9, 5) + Self.frame(1, 300).prefix(9)
    #expect(Self.read([bytes[...]]) == [true])
  }

  @Test(arguments: [8, 9, 10] as [UInt8]) func `a control frame is no part`(_ opcode: UInt8) {
    let bytes = Self.frame(opcode, 100)
    #expect(Self.read([bytes[..<40], bytes[40...]]) == [false, false])
  }

  @Test func `a continuation is a part`() {
    #expect(Self.read([Self.frame(0, 100).prefix(50)]) == [true])
  }

  @Test func `a length that overflows does not trap`() {
    let head: [UInt8] = [0x81, 0xFF] + Array(repeating: 0xFF, count: 8)
    #expect(Self.read([head[...], Array(repeating: 0xFF, count: 100)[...]]).count == 2)
  }
}

@Suite struct RenewalTests {
  private func renewal(_ time: JSON, _ expires: JSON, at now: Duration = .zero) -> Renewal? {
    let welcome: JSON = ["type": "welcome", "time": time, "expires": expires]
    return Frame(reading: welcome.bytes).flatMap { Renewal($0, at: now) }
  }

  @Test func `the expiry of a session is measured by the relay's clock`() {
    #expect(renewal(5_000, 605_000, at: .seconds(7))?.due == .seconds(7 + 570))
  }

  @Test(
    arguments: [
      (5_000, nil), (5_000, "soon"), (5_000, 5_000), (5_000, 4_000), (nil, 605_000), (5_000, 1e300),
    ] as [(JSON, JSON)])
  func `an invalid or past expiry requests no newer token`(_ time: JSON, _ expires: JSON) {
    #expect(renewal(time, expires)?.due == nil)
  }

  @Test func `a request for a token has a minimum delay, and its timer a maximum`() {
    #expect(renewal(0, 1)?.due == .seconds(1))
    #expect(renewal(0, 2_000)?.due == .seconds(1))
    #expect(renewal(.number("-9007199254740991"), .number("9007199254740991"))?.due == .seconds(24 * 86_400))
    #expect(renewal(.number("-9223372036854775808"), .number("9223372036854775807"))?.due == nil)
  }

  @Test func `a token with a long lifetime is renewed shortly before it expires`() throws {
    let day = Duration.seconds(86_400)
    var session = try #require(renewal(0, 2_592_000_000))
    #expect(session.timePassed(at: day * 24) == false)
    let end = day * 30 - Renewal.lead
    #expect(session.due == end)
    #expect(session.timePassed(at: end) == true)
    #expect(session.due == nil)
  }

  @Test func `the client requests a newer token once for each expiry`() throws {
    var session = try #require(renewal(0, 100_000))
    #expect(session.timePassed(at: .milliseconds(69_999)) == false)
    #expect(session.timePassed(at: .seconds(70)) == true)
    #expect(session.timePassed(at: .seconds(71)) == false)
    for end in [nil, 100_000, 99_999] as [Int64?] { session.renewed(until: end, at: .seconds(71)) }
    #expect(session.due == nil)
    session.renewed(until: 171_000, at: .seconds(71))
    #expect(session.due == .seconds(71 + 70))
  }
}

@Suite struct ReceiptTests {
  private var receipt = Receipt()

  @Test mutating func `the client sends one mark for all messages of 250 ms`() {
    receipt.shown(1, at: .zero)
    receipt.shown(3, at: .milliseconds(200))
    #expect(receipt.due == .milliseconds(250))
    #expect(receipt.timePassed(at: .milliseconds(250), isJoined: true) == 3)
    #expect(receipt.due == nil)
    receipt.shown(3, at: .seconds(1))
    #expect(receipt.due == nil)
  }

  @Test mutating func `a mark that cannot be sent is sent after the next join`() {
    receipt.shown(3, at: .zero)
    #expect(receipt.timePassed(at: .seconds(1), isJoined: false) == nil)
    receipt.joined(at: .seconds(5))
    #expect(receipt.timePassed(at: .milliseconds(5_250), isJoined: true) == 3)
  }
}

@Suite struct FocusDeskTests {
  private var desk = FocusDesk()
  private let start = Moment(own: .zero, relay: nil)

  @Test mutating func `a newer report replaces the one that waits, with a higher number`() throws {
    let time = Timestamp(rawValue: 1_000)
    #expect(desk.reported(FocusReport(isFocused: true), 1, at: start, time) == nil)
    let first = try #require(desk.report?.number)
    // The clock went back.
    #expect(desk.reported(FocusReport(isFocused: false), 2, at: start, Timestamp(rawValue: 0)) == 1)
    #expect(try #require(desk.report?.number) > first)
    #expect(desk.report?.isFocused == false)
    #expect(desk.ended() == 2)
    #expect(desk.report == nil)
  }

  @Test mutating func `a temporarily refused report is sent again once`() {
    _ = desk.reported(FocusReport(isFocused: true), 1, at: start, Timestamp(rawValue: 1))
    desk.refused(at: .zero, retryAfter: .seconds(1), random: 1)
    #expect(desk.timePassed(at: .seconds(1)) == false)
    #expect(desk.timePassed(at: .milliseconds(1_500)) == true)
    #expect(desk.timePassed(at: .seconds(9)) == false)
  }

  /// A report that has the number 1,000: its age in seconds by the client's clock, the relay's clock in seconds at the
  /// report and at the reply, the stored number, and the next number of the report. The last is `nil` if a newer report
  /// has replaced the report.
  static let replies: [(age: Int, from: Int?, until: Int?, stored: Int, next: Int64?)] = [
    // A process that has made a report since has a number that is higher by the time since then.
    (5, nil, nil, 6_001, nil), (5, nil, nil, 6_002, 6_003), (0, nil, nil, 1_001, nil),
    // The stored number is lower, because the client's clock is ahead now.
    (5, nil, nil, 900, 1_001),
    // The client's clock stood still while the computer slept.
    (0, 100, 105, 6_001, nil), (0, 100, 105, 6_002, 6_003),
    // The report was made before the first welcome.
    (5, nil, 1_000_000, 6_002, 6_003),
  ]

  @Test(arguments: replies.indices)
  mutating func `the age of a report decides if a stored number is that of a newer one`(_ index: Int) throws {
    let row = Self.replies[index]
    let made = Moment(own: .zero, relay: row.from.map { Duration.seconds($0) })
    let now = Moment(own: .seconds(row.age), relay: row.until.map { Duration.seconds($0) })
    _ = desk.reported(FocusReport(isFocused: true), 1, at: made, Timestamp(rawValue: 1_000))
    let reply: JSON = ["applied": false, "number": .number("\(row.stored)")]
    guard let next = row.next else {
      #expect(throws: StillwireError.replaced) { try desk.answered(reply, at: now) }
      return
    }
    let isOver = try desk.answered(reply, at: now)
    #expect(!isOver)
    #expect(desk.report?.number == next)
  }
}

@Suite struct RelayAddressTests {
  @Test(arguments: [
    ("http://localhost:8080", "http://localhost:8080", "/v1/connect"),
    ("https://relay.example.org", "https://relay.example.org", "/v1/connect"),
    ("wss://relay.example.org/", "https://relay.example.org", "/v1/connect"),
    ("ws://127.0.0.1:1/v1/connect", "http://127.0.0.1:1", "/v1/connect"),
    ("https://example.org/chat/", "https://example.org/chat", "/chat/v1/connect"),
    ("http://[::1]:8080", "http://[::1]:8080", "/v1/connect"),
  ])
  func `an address has a URL and the path of the socket`(_ text: String, _ http: String, _ path: String) throws {
    let address = try #require(RelayAddress(text))
    #expect(address.description == http)
    #expect(address.socketPath == path)
  }

  @Test(arguments: [
    "", "relay.example.org", "ftp://relay.example.org", "http://", "http://user:word@relay.example.org",
    "http://relay.example.org?token=1", "http://relay.example.org#a", "http://relay.example.org:0",
    "http://relay.example.org:65536",
  ])
  func `an invalid address is rejected`(_ text: String) { #expect(RelayAddress(text) == nil) }
}

@Suite struct ErrorTests {
  @Test func `the client parses error frames and problem documents alike`() {
    let frame: JSON = [
      "type": "error", "code": "rate_limited", "message": "slower", "temporary": true, "retryAfter": 1.5,
    ]
    let expected = StillwireError(
      .refused(.rateLimited), "slower", isTemporary: true, retryAfter: .milliseconds(1_500))
    #expect(StillwireError(frame) == expected)
    let problem: JSON = ["code": "forbidden", "detail": "not yours", "status": 403]
    #expect(StillwireError(problem) == StillwireError(.refused(.forbidden), "not yours"))
  }

  @Test func `an unknown code becomes internal`() {
    #expect(StillwireError(["code": "tired"]).code == .refused(.internal))
  }

  @Test(arguments: [-1, 1e300]) func `a retry delay is limited to 30 days`(_ seconds: Double) {
    let error = StillwireError(["code": "rate_limited", "retryAfter": .number(String(seconds))])
    #expect((error.retryAfter ?? .zero) <= .seconds(30 * 86_400))
  }
}
