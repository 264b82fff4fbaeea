// SPDX-License-Identifier: Apache-2.0
import RelayProtocol
import Testing

@testable import StillwireClient

@Suite struct SilenceTests {
  private var silence = Silence(heartbeat: .seconds(25), patience: .seconds(10), at: .zero)

  @Test mutating func `a silence is asked about, then given up`() {
    #expect(silence.timePassed(at: .milliseconds(24_999)) == nil)
    #expect(silence.timePassed(at: .seconds(25)) == .ping)
    #expect(silence.timePassed(at: .milliseconds(34_999)) == nil)
    #expect(silence.timePassed(at: .seconds(35)) == .giveUp)
  }

  @Test mutating func `whatever is heard is life`() {
    _ = silence.timePassed(at: .seconds(25))
    silence.heard(at: .seconds(30))
    #expect(silence.timePassed(at: .seconds(54)) == nil)
    #expect(silence.timePassed(at: .seconds(55)) == .ping)
  }
}

@Suite struct ReceiptTests {
  private var receipt = Receipt()

  @Test mutating func `one mark is told for all messages of 250 ms`() {
    receipt.shown(1, at: .zero)
    receipt.shown(3, at: .milliseconds(200))
    #expect(receipt.due == .milliseconds(250))
    #expect(receipt.timePassed(at: .milliseconds(250), isJoined: true) == 3)
    #expect(receipt.due == nil)
    receipt.shown(3, at: .seconds(1))
    #expect(receipt.due == nil)
  }

  @Test mutating func `what cannot be told yet is told after the next join`() {
    receipt.shown(3, at: .zero)
    #expect(receipt.timePassed(at: .seconds(1), isJoined: false) == nil)
    receipt.joined(at: .seconds(5))
    #expect(receipt.timePassed(at: .milliseconds(5_250), isJoined: true) == 3)
  }
}

@Suite struct FocusDeskTests {
  private var desk = FocusDesk()

  @Test mutating func `a newer report replaces the one that waits, with a higher number`() throws {
    let time = Timestamp(rawValue: 1_000)
    #expect(desk.reported(FocusReport(isFocused: true), 1, at: time) == nil)
    let first = try #require(desk.report?.number)
    // The clock stood still, or went back.
    #expect(desk.reported(FocusReport(isFocused: false), 2, at: Timestamp(rawValue: 0)) == 1)
    #expect(try #require(desk.report?.number) > first)
    #expect(desk.report?.isFocused == false)
    #expect(desk.ended() == 2)
    #expect(desk.report == nil)
  }

  @Test mutating func `refused for a while, it is told again once`() {
    _ = desk.reported(FocusReport(isFocused: true), 1, at: Timestamp(rawValue: 1))
    desk.refused(at: .zero, retryAfter: .seconds(1), random: 1)
    #expect(desk.timePassed(at: .seconds(1)) == false)
    #expect(desk.timePassed(at: .milliseconds(1_500)) == true)
    #expect(desk.timePassed(at: .seconds(9)) == false)
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
  func `an address has two sides`(_ text: String, _ http: String, _ path: String) throws {
    let address = try #require(RelayAddress(text))
    #expect(address.description == http)
    #expect(address.socketPath == path)
  }

  @Test(arguments: [
    "", "relay.example.org", "ftp://relay.example.org", "http://", "http://user:word@relay.example.org",
    "http://relay.example.org?token=1", "http://relay.example.org#a", "http://relay.example.org:0",
    "http://relay.example.org:65536",
  ])
  func `what is none is none`(_ text: String) { #expect(RelayAddress(text) == nil) }
}

@Suite struct ErrorTests {
  @Test func `an error frame and a problem document are read alike`() {
    let frame: JSON = [
      "type": "error", "code": "rate_limited", "message": "slower", "temporary": true, "retryAfter": 1.5,
    ]
    let expected = StillwireError(
      .refused(.rateLimited), "slower", isTemporary: true, retryAfter: .milliseconds(1_500))
    #expect(StillwireError(frame) == expected)
    let problem: JSON = ["code": "forbidden", "detail": "not yours", "status": 403]
    #expect(StillwireError(problem) == StillwireError(.refused(.forbidden), "not yours"))
  }

  @Test func `a code of a newer relay is an error all the same`() {
    #expect(StillwireError(["code": "tired"]).code == .refused(.internal))
  }

  @Test(arguments: [-1, 1e300]) func `nobody waits for ever`(_ seconds: Double) {
    let error = StillwireError(["code": "rate_limited", "retryAfter": .number(String(seconds))])
    #expect((error.retryAfter ?? .zero) <= .seconds(30 * 86_400))
  }
}
