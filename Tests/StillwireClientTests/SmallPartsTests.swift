// SPDX-License-Identifier: Apache-2.0
// Tests the small types of the Swift client: silence, token renewal, receipts, Focus reports, addresses and errors.
import RelayJSON
import RelayProtocol
import Testing

@testable import StillwireClient
@testable import StillwireExtension

@Suite struct SilenceTests {
  private var silence = Silence(heartbeat: .seconds(25), patience: .seconds(10), at: .zero)

  @Test mutating func `the client sends a ping after a silence, and then closes the connection`() {
    #expect(silence.timePassed(at: .milliseconds(24_999)) == nil)
    #expect(silence.timePassed(at: .seconds(25)) == .ping)
    #expect(silence.timePassed(at: .milliseconds(34_999)) == nil)
    #expect(silence.timePassed(at: .seconds(35)) == .giveUp)
  }

  @Test mutating func `each frame ends the silence`() {
    _ = silence.timePassed(at: .seconds(25))
    silence.received(at: .seconds(30))
    #expect(silence.timePassed(at: .seconds(54)) == nil)
    #expect(silence.timePassed(at: .seconds(55)) == .ping)
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
