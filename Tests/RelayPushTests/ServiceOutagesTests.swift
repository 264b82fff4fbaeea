// SPDX-License-Identifier: Apache-2.0
import RelayGateways
import RelayProtocol
import RelayStore
import Testing

@testable import RelayPush

@Suite struct ServiceOutagesTests {
  private static let start = ContinuousClock.now
  private var outages = ServiceOutages()

  private static func device(_ platform: Platform = .apns, app: String? = "chat", token: String = "token") -> Device {
    Device(id: DeviceID(unchecked: "phone"), app: app, platform: platform, token: token)
  }

  private static func time(_ seconds: Int) -> Timestamp { Timestamp(rawValue: Int64(seconds) * 1_000) }

  private mutating func observe(
    _ outcome: PushOutcome, cause: String? = nil, of device: Device = device(), at seconds: Int
  ) -> (event: ServiceOutages.Event?, hasEnded: Bool) {
    outages.observe(outcome, cause: cause, of: device, at: Self.time(seconds), Self.start + .seconds(seconds))
  }

  private static let failure = PushOutcome.retry(after: nil, .connectFailed)

  @Test mutating func `an outage is announced at its first failure, and its end at the first answer`() {
    let outage = ServiceOutage(of: Self.device(), .connectFailed, cause: "connection refused", since: Self.time(1))
    #expect(observe(Self.failure, cause: "connection refused", at: 1).event == .begins(outage))
    #expect(outages.all == [outage])
    #expect(observe(.retry(after: nil, .timeout, isUnknown: true), at: 2).event == nil)
    #expect(outages.all == [outage])
    let end = observe(.sent(.accepted), at: 9)
    #expect(end.event == .ends(outage) && end.hasEnded)
    #expect(outages.all.isEmpty)
    #expect(observe(.sent(.accepted), at: 10) == (nil, false))
  }

  @Test mutating func `the first answer in a run counts as an end, because the outage may be older`() {
    #expect(observe(.sent(.accepted), at: 1) == (nil, true))
    #expect(observe(.sent(.accepted), at: 2) == (nil, false))
  }

  @Test mutating func `an outage that begins soon after another one is announced later, if it lasts`() {
    #expect(observe(Self.failure, at: 0).event != nil)
    #expect(observe(.sent(.accepted), at: 10).event != nil)
    #expect(observe(Self.failure, at: 20).event == nil)
    // Its end, too, is not announced, but the waiting pushes are sent.
    #expect(observe(.sent(.accepted), at: 30) == (nil, true))
    #expect(observe(Self.failure, at: 40).event == nil)
    #expect(observe(Self.failure, at: 59).event == nil)
    let outage = ServiceOutage(of: Self.device(), .connectFailed, cause: nil, since: Self.time(40))
    #expect(observe(Self.failure, at: 60).event == .begins(outage))
  }

  @Test(
    arguments: [
      (.sent(.shown), true), (.tooLarge(.payloadTooLarge), true), (.forgetDevice(.unregistered), true),
      (.paused(.seconds(1), .tooManyRequests), false), (.dead(.badTopic), false),
      (.retry(after: nil, .tooManyRequests), false), (.retry(after: nil, .timeout), false),
      (.retry(after: nil, .serviceUnavailable), false),
    ] as [(PushOutcome, Bool)])
  mutating func `an answer to a push ends an outage`(outcome: PushOutcome, ends: Bool) {
    _ = observe(Self.failure, at: 0)
    #expect(observe(outcome, at: 1).hasEnded == ends)
    #expect(outages.all.isEmpty == ends)
  }

  @Test(arguments: GatewayReason.allCases)
  mutating func `only failures of the service begin an outage`(reason: GatewayReason) {
    let begins: Set<GatewayReason> = [
      .addressRefused, .connectFailed, .connectionLost, .internalServerError, .serviceUnavailable, .shutdown, .timeout,
    ]
    #expect((observe(.retry(after: nil, reason), at: 0).event != nil) == begins.contains(reason))
  }

  @Test mutating func `services fail independently, and a simulated phone is none`() {
    #expect(observe(Self.failure, of: Self.device(app: "chat"), at: 0).event != nil)
    #expect(observe(Self.failure, of: Self.device(app: "mail"), at: 1).event != nil)
    let browser = Self.device(.webpush, app: nil, token: "https://push.example.org/send/abc#key")
    #expect(observe(Self.failure, of: browser, at: 2).event != nil)
    #expect(observe(Self.failure, of: Self.device(.simulator), at: 3) == (nil, false))
    #expect(outages.all.map(\.app) == ["chat", "mail", nil])
    #expect(outages.all.map(\.origin) == [nil, nil, "https://push.example.org"])
    _ = observe(.sent(.accepted), of: Self.device(app: "chat"), at: 4)
    #expect(outages.all.map(\.app) == ["mail", nil])
  }

  @Test mutating func `a failing service gets one probe in 5 s`() {
    #expect(outages.probes(at: Self.start).isEmpty)
    _ = observe(Self.failure, at: 0)
    #expect(outages.probes(at: Self.start + .seconds(4)).isEmpty)
    #expect(outages.probes(at: Self.start + .seconds(5)) == [Lane(of: Self.device())])
    #expect(outages.probes(at: Self.start + .seconds(9)).isEmpty)
    #expect(outages.probes(at: Self.start + .seconds(10)).count == 1)
    _ = observe(.sent(.accepted), at: 11)
    #expect(outages.probes(at: Self.start + .seconds(60)).isEmpty)
  }
}
