// SPDX-License-Identifier: Apache-2.0
import RelayJSON
import RelayProtocol
import Testing

@testable import StillwireClient

/// Cases of `ClientMachine` that the scripts of Tests/Conformance cannot reach.
@Suite struct ClientMachineTests {
  private var machine = ClientMachine(.init(addresses: [address("a")], random: { 1 }, key: { "k" }))

  private mutating func take(_ seconds: Double = 0, _ input: (inout ClientMachine) -> Void) -> [Action] {
    machine.take(at: .rounded(seconds: seconds), input)
  }

  private mutating func feed(_ frame: JSON) -> [Action] { take { $0.textArrived(frame.bytes) } }

  private mutating func open(expires: Int? = nil) {
    _ = take { $0.connectRequested() }
    _ = take { $0.opened(nil) }
    var welcome: [String: JSON] = ["type": "welcome", "user": "ann", "heartbeat": 25, "limits": [:]]
    if let expires { welcome.merge(["time": 0, "expires": .number(String(expires))]) { $1 } }
    _ = feed(.object(welcome))
    #expect(machine.isOpen)
  }

  private mutating func join() {
    _ = take { $0.joinRequested("tea", history: 0, 1) }
    _ = feed(["type": "ok", "id": 1, "epoch": "e1", "seq": 0, "messages": []])
    #expect(machine.tracks["tea"]?.phase == .joined)
  }

  /// Returns the types of the frames that these actions write.
  private func written(_ actions: [Action]) -> [JSON?] {
    actions.compactMap { if case .write(let text) = $0 { JSON(reading: text, maxDepth: 9)?["type"] } else { nil } }
  }

  private func finished(_ actions: [Action]) -> [Ticket] {
    actions.compactMap { if case .finish(let ticket, _) = $0 { ticket } else { nil } }
  }

  @Test mutating func `a time that goes back is ignored`() {
    _ = take(10) { $0.connectRequested() }
    _ = take(5) { $0.attemptFailed() }
    #expect(machine.link == .waiting(until: .milliseconds(10_500)))
  }

  @Test mutating func `an attempt and its welcome have a common timeout of 15 s`() {
    _ = take { $0.connectRequested() }
    _ = take(10) { $0.opened(nil) }
    #expect(machine.nextDue == .seconds(15))
    #expect(take(15) { $0.timePassed() }.first == .drop)
    #expect(machine.state == .waiting(.milliseconds(500)))
  }

  @Test mutating func `events of an attempt are ignored after its end`() {
    _ = take { $0.connectRequested() }
    _ = take { $0.attemptFailed() }
    #expect(take { $0.opened(nil) }.isEmpty)
    #expect(take { $0.attemptFailed() }.isEmpty)
    #expect(take { $0.socketClosed(code: 4501, reason: "") }.isEmpty)
    #expect(machine.state == .waiting(.milliseconds(500)))
  }

  @Test mutating func `a welcome before hello is ignored`() {
    _ = take { $0.connectRequested() }
    _ = feed(["type": "welcome", "user": "ann"])
    #expect(!machine.isOpen)
  }

  @Test mutating func `a socket that closes before its upgrade is a lost connection`() {
    _ = take { $0.connectRequested() }
    _ = take { $0.socketClosed(code: nil, reason: "") }
    #expect(machine.state == .waiting(.milliseconds(500)))
  }

  @Test mutating func `a newer token is sent only in the session that needs it`() {
    open(expires: 100_000)
    #expect(take(70) { $0.timePassed() }.contains(.renew(attempt: 1)))
    #expect(take(70) { $0.renewed(.open("ann"), of: 1) }.isEmpty)
    #expect(take(70) { $0.renewed(nil, of: 1) }.isEmpty)
    #expect(written(take(70) { $0.renewed(.token("a.b.new"), of: 1) }) == ["refresh"])
    _ = take(70) { $0.socketClosed(code: nil, reason: "") }
    #expect(machine.renewal == nil)
    #expect(take(70) { $0.renewed(.token("a.b.late"), of: 1) }.isEmpty)
    _ = take(80) { $0.connectRequested() }
    _ = take(80) { $0.opened(nil) }
    _ = feed(["type": "welcome", "user": "ann"])
    #expect(take(80) { $0.renewed(.token("a.b.late"), of: 1) }.isEmpty)
  }

  @Test mutating func `the number of pending requests is limited`() {
    open()
    for ticket in 1...Ticket(Requests.capacity) { #expect(take { $0.requested("ping", [:], ticket) }.count == 1) }
    let over = take { $0.requested("ping", [:], 5_000) }
    #expect(over == [.finish(5_000, .failure(.outboxFull))])
  }

  @Test mutating func `a cancelled request's reply is ignored`() {
    open()
    _ = take { $0.requested("presence", [:], 7) }
    _ = take { $0.cancelled(7) }
    #expect(feed(["type": "ok", "id": 1]).isEmpty)
    #expect(feed(["type": "error", "id": 1, "code": "forbidden"]).isEmpty)
  }

  @Test mutating func `the message of a cancelled send is shown if its reply arrives`() {
    open()
    join()
    _ = take { $0.sendRequested("tea", ["body": "a"], key: nil, 8) }
    _ = take { $0.cancelled(8) }
    let actions = feed(["type": "ok", "id": 2, "seq": 1, "time": 1])
    #expect(finished(actions).isEmpty)
    let shown = actions.compactMap { if case .emit(.message(let message)) = $0 { message.seq } else { nil } }
    #expect(shown == [1])
  }

  @Test mutating func `a caller of join gets the result: joined, refused or closed`() {
    #expect(take { $0.joinRequested("tea", history: 0, 1) }.isEmpty)
    #expect(take { $0.joinRequested("tea", history: 0, 2) }.isEmpty)
    open()
    #expect(finished(feed(["type": "ok", "id": 1, "epoch": "e1", "seq": 0])) == [1, 2])
    #expect(finished(take { $0.joinRequested("tea", history: 0, 3) }) == [3])
    _ = take { $0.joinRequested("jam", history: 0, 4) }
    #expect(finished(feed(["type": "error", "id": 2, "code": "forbidden"])) == [4])
    _ = take { $0.joinRequested("pie", history: 0, 5) }
    _ = take { $0.cancelled(5) }
    #expect(finished(feed(["type": "ok", "id": 3, "epoch": "e1", "seq": 0])).isEmpty)
    _ = take { $0.joinRequested("rye", history: 0, 6) }
    #expect(finished(take { $0.closeRequested() }) == [6])
  }

  @Test mutating func `a closed client has no timer, request or message left`() {
    open()
    join()
    _ = take { $0.sendRequested("tea", ["body": "a"], key: nil, 8) }
    _ = take { $0.closeRequested() }
    #expect(machine.nextDue == nil)
    #expect(machine.requests.pending.isEmpty)
    #expect(machine.outbox.lanes.isEmpty)
  }

  @Test mutating func `a send fails immediately while the client is refused`() {
    open()
    join()
    _ = take { $0.socketClosed(code: 4504, reason: "") }
    #expect(take { $0.sendRequested("tea", ["body": "a"], key: nil, 8) } == [.finish(8, .failure(.closed))])
  }

  // MARK: Several addresses

  /// Returns the addresses of the attempts that these actions begin, by their first letters.
  private func opened(_ actions: [Action]) -> String {
    actions.map { if case .open(_, let address, _) = $0 { String(address.host.prefix(1)) } else { "" } }.joined()
  }

  private static let cluster = ClientMachine(
    .init(addresses: ["a", "b", "c"].map { address($0) }, random: { 1 }, key: { "k" }))

  @Test mutating func `a failed attempt is followed by the named leader, and a failed round by a delay`() {
    machine = Self.cluster
    #expect(opened(take { $0.connectRequested() }) == "a")
    let second = take { $0.attemptFailed(leader: "https://c.example.org") }
    #expect(second == [.open(attempt: 2, address("c"), isExpired: false)])
    #expect(opened(take { $0.socketClosed(code: nil, reason: "") }) == "b")
    #expect(opened(take { $0.attemptFailed(leader: "https://c.example.org") }) == "")
    #expect(machine.state == .waiting(.milliseconds(500)))
    #expect(opened(take(1) { $0.timePassed() }) == "c")
  }

  @Test mutating func `a failing identity is not a failure of the address`() {
    machine = Self.cluster
    _ = take { $0.connectRequested() }
    _ = take { $0.identityFailed() }
    #expect(machine.state == .waiting(.milliseconds(500)))
    #expect(opened(take(1) { $0.timePassed() }) == "a")
  }

  @Test mutating func `a socket to one of several addresses has a timeout of 5 s, which does not include the identity`()
  {
    machine = Self.cluster
    _ = take { $0.connectRequested() }
    #expect(machine.nextDue == .seconds(15))
    _ = take(9) { $0.identityArrived() }
    #expect(machine.nextDue == .seconds(14))
    #expect(take(14) { $0.timePassed() } == [.drop, .open(attempt: 2, address("b"), isExpired: false)])
    _ = take(27) { $0.identityArrived() }
    #expect(machine.nextDue == .seconds(29))
    _ = take(28) { $0.opened(nil) }
    #expect(machine.nextDue == .seconds(29))
  }

  @Test(
    arguments: [
      ("welcome lost", nil, "b"), ("shutdown", 4000, "b"), ("expired", 4002, ""), ("over rate", 4006, ""),
      ("refused", 4501, ""),
    ] as [(String, UInt16?, String)])
  mutating func `the close code of a hello decides if the next address follows`(
    _ name: String, _ code: UInt16?, _ next: String
  ) {
    machine = Self.cluster
    _ = take { $0.connectRequested() }
    _ = take { $0.opened(nil) }
    #expect(opened(take { $0.socketClosed(code: code, reason: "") }) == next, "\(name)")
  }

  @Test mutating func `a bye without reconnect refuses the client, and no address follows`() {
    machine = Self.cluster
    _ = take { $0.connectRequested() }
    _ = take { $0.opened(nil) }
    _ = feed(["type": "bye", "code": 4000, "reason": "no", "reconnect": false])
    #expect(opened(take { $0.socketClosed(code: 4000, reason: "") }) == "")
    #expect(machine.link == .refused)
  }

  @Test mutating func `each part of a frame keeps the connection and the timeout of a request`() {
    machine = Self.cluster
    open()
    _ = take(1) { $0.requested("presence", [:], 7) }
    for second in stride(from: 2.0, through: 90, by: 2) { #expect(take(second) { $0.partArrived() }.isEmpty) }
    #expect(machine.nextDue == .seconds(93))
    #expect(written(take(93) { $0.timePassed() }) == ["ping"])
    #expect(take(94) { $0.timePassed() }.contains(.drop))
  }

  @Test mutating func `the parts of a frame can be a steady stream, also while a request waits`() {
    machine = Self.cluster
    open()
    _ = take(1) { $0.requested("presence", [:], 7) }
    for second in 2...90 { #expect(take(Double(second)) { $0.partArrived() }.isEmpty) }
    #expect(machine.nextDue == .seconds(91))
    #expect(written(take(91) { $0.timePassed() }) == ["ping"])
    #expect(take(93.9) { $0.timePassed() }.isEmpty)
    #expect(take(94) { $0.timePassed() }.contains(.drop))
  }

  @Test mutating func `a large request has time to arrive`() {
    machine = Self.cluster
    open()
    _ = take { $0.requested("edit", ["body": .string(String(repeating: "x", count: 49_950))], 7) }
    #expect(written(take(3) { $0.timePassed() }) == ["ping"])
    #expect(take(10.9) { $0.timePassed() }.isEmpty)
    #expect(take(11.1) { $0.timePassed() }.contains(.drop))
  }

  @Test mutating func `an identity that does not arrive makes no address silent`() {
    machine = Self.cluster
    _ = take { $0.connectRequested() }
    #expect(opened(take(15) { $0.timePassed() }) == "b")
    _ = take(15) { $0.identityArrived() }
    _ = take(15) { $0.attemptFailed(isStandby: true) }
    _ = take(15) { $0.identityArrived() }
    _ = take(15) { $0.attemptFailed(isStandby: true) }
    #expect(machine.state == .waiting(.milliseconds(500)))
    #expect(opened(take(16) { $0.timePassed() }) == "a")
  }

  @Test mutating func `data that is not part of the protocol before the welcome is followed by the next address`() {
    machine = Self.cluster
    _ = take { $0.connectRequested() }
    _ = take { $0.opened(nil) }
    #expect(
      take { $0.nonsenseArrived() } == [.close(code: 3002), .open(attempt: 2, address("b"), isExpired: false)])
    // The next attempt ends nothing but itself.
    _ = take { $0.closeRequested() }
    #expect(opened(take { $0.nonsenseArrived() }) == "")
  }
}

/// Returns the address of a node of the tests.
func address(_ node: String) -> RelayAddress { RelayAddress("https://\(node).example.org")! }
