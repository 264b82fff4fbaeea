// SPDX-License-Identifier: Apache-2.0
import RelayGateways
import RelayProtocol
import RelayStore
import Testing

@testable import RelayPush

@Suite struct ServiceOutagesTests {
  private typealias Sign = ServiceOutages.Sign
  private static let start = ContinuousClock.now
  private var outages = ServiceOutages()

  private static func device(
    _ platform: Platform = .apns, app: String? = "chat", token: String = "token", _ environment: PushEnvironment? = nil
  ) -> Device {
    Device(
      id: DeviceID(unchecked: "phone"), app: app, platform: platform, token: token, environment: environment)
  }

  private static func browser(_ host: String) -> Device {
    device(.webpush, app: nil, token: "https://\(host)/send/abc#key")
  }

  private static func time(_ seconds: Int) -> Timestamp { Timestamp(rawValue: Int64(seconds) * 1_000) }
  private static func instant(_ seconds: Int) -> ContinuousClock.Instant { start + .seconds(seconds) }
  private static let failure = Sign.fails(.connectFailed, cause: nil)

  private mutating func observe(
    _ sign: Sign, of device: Device = device(), at seconds: Int
  ) -> (event: ServiceOutages.Event?, retries: Bool) {
    outages.observe(sign, of: device, at: Self.time(seconds), Self.instant(seconds))
  }

  @Test mutating func `an outage is announced at its first failure, and its end at the first answer`() {
    let outage = ServiceOutage(of: Self.device(), .connectFailed, cause: "connection refused", since: Self.time(1))
    #expect(observe(.fails(.connectFailed, cause: "connection refused"), at: 1).event == .begins(outage))
    #expect(outages.current(at: Self.instant(1)) == [outage])
    #expect(observe(.fails(.timeout, cause: nil), at: 2).event == nil)
    #expect(outages.current(at: Self.instant(2)) == [outage])
    let end = observe(.works, at: 9)
    #expect(end.event == .ends(outage) && end.retries)
    #expect(outages.current(at: Self.instant(9)).isEmpty)
    #expect(observe(.works, at: 10) == (nil, false))
  }

  @Test mutating func `the first answer in a run sends the pushes of an earlier outage`() {
    #expect(observe(.works, at: 1) == (nil, true))
    #expect(observe(.works, at: 2) == (nil, false))
  }

  @Test mutating func `a service that fails again and again is announced, and has its pushes sent, once a minute`() {
    #expect(observe(Self.failure, at: 0).event != nil)
    #expect(observe(.works, at: 10).retries)
    #expect(observe(Self.failure, at: 20).event == nil)
    #expect(observe(.works, at: 30) == (nil, false))
    #expect(observe(Self.failure, at: 40).event == nil)
    #expect(observe(Self.failure, at: 59).event == nil)
    let outage = ServiceOutage(of: Self.device(), .connectFailed, cause: nil, since: Self.time(40))
    #expect(observe(Self.failure, at: 60).event == .begins(outage))
    #expect(observe(.works, at: 69) == (.ends(outage), false))
    #expect(observe(Self.failure, at: 70).event == nil)
    #expect(observe(.works, at: 71) == (nil, true))
  }

  @Test(
    arguments: [
      (.sent(.shown), nil, .works), (.sent(.accepted), 200, .works), (.tooLarge(.payloadTooLarge), 413, .works),
      (.tooLarge(.payloadTooLarge), nil, nil), (.forgetDevice(.unregistered), 410, .works),
      (.paused(.seconds(1), .forbidden), 403, .works), (.paused(.seconds(1), .tooManyRequests), nil, nil),
      (.dead(.badTopic), 400, .works), (.dead(.noCredential), nil, nil),
      (.retry(after: nil, .tooManyRequests), 429, .works), (.retry(after: nil, .cancelled), nil, nil),
      (.retry(after: nil, .timeout), nil, .fails(.timeout, cause: "no answer")),
      (.retry(after: nil, .serviceUnavailable), 503, .fails(.serviceUnavailable, cause: "no answer")),
      (.retry(after: nil, .other), 502, nil),
    ] as [(PushOutcome, Int?, ServiceOutages.Sign?)])
  func `an answer below 500 shows that a service works`(outcome: PushOutcome, status: Int?, sign: ServiceOutages.Sign?)
  {
    #expect(Sign(outcome, status: status, cause: "no answer") == sign)
  }

  @Test(arguments: GatewayReason.allCases)
  func `only failures of the service begin an outage`(reason: GatewayReason) {
    let begins: Set<GatewayReason> = [
      .addressRefused, .connectFailed, .connectionLost, .internalServerError, .serviceUnavailable, .shutdown, .timeout,
    ]
    let sign = Sign(.retry(after: nil, reason), status: nil, cause: nil)
    #expect((sign == .fails(reason, cause: nil)) == begins.contains(reason))
  }

  @Test mutating func `services fail independently, and a simulated phone is none`() {
    #expect(observe(Self.failure, of: Self.device(app: "chat", .sandbox), at: 0).event != nil)
    #expect(observe(Self.failure, of: Self.device(app: "mail"), at: 1).event != nil)
    #expect(observe(Self.failure, of: Self.device(.simulator), at: 3) == (nil, false))
    #expect(outages.current(at: Self.instant(4)).map(\.app) == ["chat", "mail"])
    #expect(outages.current(at: Self.instant(4)).map(\.environment) == [.sandbox, nil])
    #expect(observe(.works, of: Self.device(app: "chat"), at: 4).event == nil)
    _ = observe(.works, of: Self.device(app: "chat", .sandbox), at: 4)
    #expect(outages.current(at: Self.instant(4)).map(\.app) == ["mail"])
  }

  @Test mutating func `a browser's service counts after its first answer, apart from others of its lane`() {
    let hosts = (0..<200).map { "push\($0).example.org" }
    // Two services of one lane.
    let lanes = Dictionary(grouping: hosts) { Lane(of: Self.browser($0)) }
    let pair = lanes.values.first { $0.count > 1 }!
    let (one, other) = (Self.browser(pair[0]), Self.browser(pair[1]))
    #expect(observe(Self.failure, of: one, at: 0) == (nil, false))
    #expect(outages.current(at: Self.instant(0)).isEmpty)
    #expect(observe(.works, of: one, at: 1).retries)
    #expect(observe(.works, of: other, at: 1).retries)
    #expect(observe(Self.failure, of: one, at: 2).event != nil)
    #expect(observe(.works, of: other, at: 3) == (nil, false))
    #expect(outages.current(at: Self.instant(3)).map(\.origin) == ["https://\(pair[0])"])
  }

  @Test mutating func `a service to which no push is sent any more is forgotten`() {
    _ = observe(Self.failure, at: 0)
    #expect(outages.current(at: Self.instant(20 * 60)).count == 1)
    #expect(outages.current(at: Self.instant(20 * 60 + 1)).isEmpty)
    #expect(outages.probes(at: Self.instant(20 * 60 + 1)).isEmpty)
    #expect(observe(Self.failure, at: 30 * 60).event != nil)
  }

  @Test mutating func `a forgotten outage ends with its event, and gets no probe`() {
    let begun = observe(Self.failure, at: 0).event
    #expect(outages.probes(at: Self.instant(20 * 60 + 1)).isEmpty)
    let end = observe(.works, at: 30 * 60)
    #expect(begun != nil && end.event != nil && end.retries)
  }

  @Test mutating func `the list has a limit`() {
    for number in 0..<ServiceOutages.maxServices + 5 {
      _ = observe(Self.failure, of: Self.device(app: "app\(number)"), at: 0)
    }
    #expect(outages.current(at: Self.instant(0)).count == ServiceOutages.maxServices)
  }

  @Test mutating func `a failing service gets one probe in 5 s`() {
    let lanes: Set = [Lane(of: Self.device())]
    #expect(outages.probes(at: Self.instant(0)).isEmpty)
    _ = observe(Self.failure, at: 0)
    #expect(outages.probes(at: Self.instant(4)).isEmpty)
    #expect(outages.probes(at: Self.instant(5)) == lanes)
    #expect(outages.probes(at: Self.instant(9)).isEmpty)
    #expect(outages.probes(at: Self.instant(10)) == lanes)
    _ = observe(.works, at: 11)
    #expect(outages.probes(at: Self.instant(60)).isEmpty)
  }
}
