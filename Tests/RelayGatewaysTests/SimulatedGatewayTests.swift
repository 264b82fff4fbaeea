// SPDX-License-Identifier: Apache-2.0
import RelayProtocol
import Testing

@testable import RelayDelivery
@testable import RelayGateways

@Suite struct SimulatedGatewayTests {
  let clock: TestClock
  let gateway: SimulatedGateway

  init() {
    let clock = TestClock()
    self.clock = clock
    gateway = SimulatedGateway { clock.now() }
  }

  @Test func `the lock screen of a token shows a push with its time of arrival`() async {
    #expect(await gateway.send(push(1), to: phone("a")) == .sent(.shown))
    clock.advance(5)
    #expect(await gateway.send(push(2), to: phone("a")) == .sent(.shown))
    #expect(
      gateway.phone("a").notifications == [
        ShownNotification(push: push(1), time: Timestamp(rawValue: 1_000)),
        ShownNotification(push: push(2), time: Timestamp(rawValue: 1_005)),
      ])
    #expect(gateway.phone("b").notifications.isEmpty)
  }

  @Test func `a push replaces the notification with its collapse id and becomes the newest`() async {
    for number in 1...3 { _ = await gateway.send(push(number), to: phone("a")) }
    _ = await gateway.send(push(1), to: phone("b"))
    #expect(await gateway.send(push(4, collapse: "room/1"), to: phone("a")) == .sent(.replaced))
    #expect(gateway.numbers("a") == [2, 3, 4])
    #expect(gateway.numbers("b") == [1])
  }

  @Test func `a phone keeps its newest 100 notifications`() async {
    for number in 1...100 { _ = await gateway.send(push(number), to: phone("a")) }
    #expect(gateway.numbers("a") == Array(1...100))
    _ = await gateway.send(push(101), to: phone("a"))
    #expect(gateway.numbers("a") == Array(2...101))
    _ = await gateway.send(push(102, collapse: "room/50"), to: phone("a"))
    #expect(gateway.numbers("a") == Array(2...49) + Array(51...102))
  }

  @Test func `opening the app clears its lock screen`() async {
    for number in 1...3 { _ = await gateway.send(push(number), to: phone("a")) }
    _ = await gateway.send(push(4), to: phone("b"))
    #expect(gateway.clear("a") == 3)
    #expect(gateway.clear("a") == 0)
    #expect(gateway.clear("nobody") == 0)
    #expect(gateway.numbers("a") == [])
    #expect(gateway.numbers("b") == [4])
    #expect(await gateway.send(push(1), to: phone("a")) == .sent(.shown))
  }

  @Test(arguments: ["", ".", "..", "a b", "ä", "a/b", "a\n", String(repeating: "a", count: 129)])
  func `the gateway reports an invalid token, so that the device is removed`(token: String) async {
    #expect(await gateway.send(push(), to: phone(token)) == .forgetDevice(.badDeviceToken))
    #expect(gateway.phone(token).notifications.isEmpty)
  }

  @Test(arguments: ["a", "A-_.:@!|+=~9", String(repeating: "a", count: 128)])
  func `a token may be any device name`(token: String) async {
    #expect(await gateway.send(push(), to: phone(token)) == .sent(.shown))
  }

  struct Fault: CustomTestStringConvertible, Sendable {
    let reason: GatewayReason?
    let testDescription: String
    let change: @Sendable (inout Push) -> Void

    init(_ reason: GatewayReason?, _ name: String, _ change: @escaping @Sendable (inout Push) -> Void) {
      self.reason = reason
      testDescription = name
      self.change = change
    }
  }

  @Test(arguments: [
    Fault(nil, "4096 bytes") { $0.payload = Array(repeating: 0x20, count: 4_096) },
    Fault(.payloadTooLarge, "4097 bytes") { $0.payload = Array(repeating: 0x20, count: 4_097) },
    Fault(.payloadEmpty, "no payload") { $0.payload = [] },
    Fault(.missingTopic, "no topic") { $0.headers.topic = "" },
    Fault(nil, "a collapse id of 64 bytes") { $0.headers.collapseID = String(repeating: "c", count: 64) },
    Fault(.badCollapseID, "a collapse id of 65 bytes") { $0.headers.collapseID = String(repeating: "c", count: 65) },
    Fault(.badCollapseID, "a collapse id of 66 bytes") { $0.headers.collapseID = String(repeating: "ä", count: 33) },
    Fault(nil, "an expiration of 0") { $0.headers.expiration = 0 },
    Fault(.badExpirationDate, "an expiration before 1970") { $0.headers.expiration = -1 },
    Fault(.badMessageID, "no id") { $0.id = "" },
    Fault(.badMessageID, "an id in capitals") { $0.id = "ABCDEF00-0000-4000-8000-000000000000" },
    Fault(.badMessageID, "a dash in the wrong position") { $0.id = "0000000-00000-4000-8000-000000000000" },
    Fault(.badMessageID, "a digit for a dash") { $0.id = "000000000-000-4000-8000-000000000000" },
    Fault(.badMessageID, "a letter beyond f") { $0.id = "g0000000-0000-4000-8000-000000000000" },
    Fault(.badMessageID, "a digit too many") { $0.id += "0" },
  ])
  func `a push that Apple's service would refuse fails for good`(fault: Fault) async {
    var push = push()
    fault.change(&push)
    let outcome = await gateway.send(push, to: phone("a"))
    if let reason = fault.reason {
      #expect(outcome == .dead(reason))
      #expect(gateway.phone("a").notifications.isEmpty)
    } else {
      #expect(outcome == .sent(.shown))
    }
  }

  @Test func `the payload of a message is accepted`() async throws {
    let subject = PayloadSubject(
      notification: uuid(7), recipient: UserID(unchecked: "bob"), sender: User(id: UserID(unchecked: "ann")),
      room: PayloadRoom(id: RoomID(unchecked: "team"), recipientCount: 1), epoch: "e", seq: 1,
      text: String(repeating: "🌻", count: 9_999), badge: 1,
      expires: Timestamp(rawValue: 2_000), app: PayloadApp(topic: "org.example.chat"))
    #expect(await gateway.send(try Push(subject), to: phone("a")) == .sent(.shown))
  }

  @Test func `an unreachable phone fails to connect and keeps its lock screen`() async {
    _ = await gateway.send(push(1), to: phone("a"))
    gateway.setReachable(false, "a")
    #expect(await gateway.send(push(2), to: phone("a")) == .retry(after: nil, .connectFailed))
    #expect(await gateway.send(push(3, payload: ""), to: phone("a")) == .retry(after: nil, .connectFailed))
    #expect(gateway.numbers("a") == [1])
    #expect(gateway.clear("a") == 1)
    #expect(!gateway.phone("a").isReachable)
    gateway.setReachable(true, "a")
    #expect(await gateway.send(push(2), to: phone("a")) == .sent(.shown))
    #expect(gateway.numbers("a") == [2])
  }

  @Test func `one phone can be made unreachable before its first push`() async {
    gateway.setReachable(false, "a")
    #expect(await gateway.send(push(1), to: phone("b")) == .sent(.shown))
    #expect(await gateway.send(push(1), to: phone("a")) == .retry(after: nil, .connectFailed))
  }

  @Test func `unreachable phones count towards the limit of phones`() async {
    let gateway = SimulatedGateway(maxPhones: 2) { [clock] in clock.now() }
    for token in ["a", "b"] { gateway.setReachable(false, token) }
    gateway.setReachable(true, "c")
    #expect(!gateway.phone("a").isReachable)
    gateway.setReachable(false, "c")
    #expect(gateway.phone("b").isReachable)
    #expect(await gateway.send(push(1), to: phone("b")) == .sent(.shown))
  }

  @Test func `a push to an unreachable phone is retried within 5 s, after any number of attempts`() throws {
    var generator = SystemRandomNumberGenerator()
    for attempts in [1, 4, 1_000] {
      let now = clock.now()
      let next = gateway.retryPolicy.next(after: attempts, now: now, expires: now + .seconds(60), using: &generator)
      #expect(try #require(next) <= now + .seconds(5))
    }
  }

  @Test func `a new phone removes the least recently used phone`() async {
    let gateway = SimulatedGateway(maxPhones: 3) { [clock] in clock.now() }
    for token in ["a", "b", "c"] { _ = await gateway.send(push(1), to: phone(token)) }
    _ = await gateway.send(push(2), to: phone("a"))
    #expect(gateway.numbers("b") == [1])
    _ = await gateway.send(push(1), to: phone("d"))
    #expect(gateway.numbers("c") == [])
    #expect(gateway.numbers("a") == [1, 2])
    #expect(gateway.numbers("b") == [1])
    #expect(gateway.numbers("d") == [1])
  }

  @Test func `the gateway simulates at most 10,000 phones`() async {
    for number in 0...SimulatedGateway.maxPhones { _ = await gateway.send(push(1), to: phone("t\(number)")) }
    #expect(gateway.numbers("t0") == [])
    #expect(gateway.numbers("t1") == [1])
    #expect(gateway.numbers("t10000") == [1])
  }

  @Test func `the gateway keeps all pushes of concurrent tasks`() async {
    await withTaskGroup { group in
      for number in 0..<400 {
        group.addTask { [gateway] in _ = await gateway.send(push(number), to: phone("t\(number % 8)")) }
      }
    }
    let kept = (0..<8).flatMap { gateway.numbers("t\($0)") }
    #expect(kept.sorted() == Array(0..<400))
  }
}
