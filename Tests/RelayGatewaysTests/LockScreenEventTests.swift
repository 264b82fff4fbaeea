// SPDX-License-Identifier: Apache-2.0
import RelayDelivery
import RelayJSON
import RelayProtocol
import Testing

@testable import RelayGateways

@Suite struct LockScreenEventTests {
  let gateway = SimulatedGateway { Timestamp(rawValue: 1_000) }

  private func shown(_ push: Push) -> LockScreenEvent {
    .shown(ShownNotification(push: push, time: Timestamp(rawValue: 1_000)))
  }

  @Test func `a listener receives the later events of its phone in order`() async {
    _ = await gateway.send(push(1), to: phone("a"))
    var events = gateway.events(of: "a").makeAsyncIterator()
    _ = await gateway.send(push(2), to: phone("a"))
    _ = await gateway.send(push(3), to: phone("b"))
    _ = await gateway.send(push(4, payload: ""), to: phone("a"))
    _ = await gateway.send(push(5, collapse: "room/1"), to: phone("a"))
    gateway.clear("a")
    gateway.clear("a")
    _ = await gateway.send(push(6), to: phone("a"))
    #expect(await events.next() == shown(push(2)))
    #expect(await events.next() == shown(push(5, collapse: "room/1")))
    #expect(await events.next() == .cleared(count: 2))
    #expect(await events.next() == shown(push(6)))
  }

  @Test func `a push with only a badge sets the number on the icon`() async {
    var events = gateway.events(of: "a").makeAsyncIterator()
    let badge = push(1, payload: #"{"aps":{"badge":7}}"#)
    #expect(await gateway.send(badge, to: phone("a")) == .sent(.accepted))
    let event = await events.next()
    #expect(
      event
        == .badged(
          ShownNotification(push: badge, time: Timestamp(rawValue: 1_000), contents: ScreenContents(badge))))
    #expect(event?.name == "badge")
    #expect(gateway.phone("a").badge == 7 && gateway.phone("a").notifications.isEmpty)
    _ = await gateway.send(push(2, payload: #"{"aps":{"alert":"Hi","badge":8}}"#), to: phone("a"))
    gateway.clear("a")
    #expect(gateway.phone("a").badge == 8)
    _ = await gateway.send(push(3, payload: #"{"aps":{"badge":0}}"#), to: phone("a"))
    #expect(gateway.phone("a").badge == 0)
  }

  @Test func `a phone removes the notifications that a push names`() async {
    func alert(_ room: String, _ seq: Int64, to user: String = "bob") -> PhonePush {
      PhonePush.message(Int(seq), in: room, to: user)
    }
    for push in [alert("tea", 1), alert("tea", 2), alert("den", 3), alert("tea", 4, to: "eve")] {
      _ = await gateway.send(push, to: phone("a"))
    }
    var events = gateway.events(of: "a").makeAsyncIterator()
    var removals = Removals()
    removals.add(MessageReference(room: RoomID(unchecked: "tea"), seq: 9), isRead: true)
    removals.add(MessageReference(room: RoomID(unchecked: "den"), seq: 3), isRead: false)
    let push = PhonePush(
      id: uuid(9), to: UserID(unchecked: "bob"), topic: "org.example.chat", .removal, removals: removals)
    #expect(await gateway.send(push, to: phone("a")) == .sent(.accepted))
    #expect(await events.next()?.name == "removed")
    // The notification of another account stays.
    #expect(gateway.phone("a").notifications.map { $0.contents.messages.map(\.seq) } == [[4]])
  }

  @Test(arguments: [
    (PhonePush.message(2).content, "notification", 1), (.badge(0), "badge", 0), (.removal, "removed", 0),
  ])
  func `a push that removes notifications is one event`(
    _ content: PhonePush.Content, _ name: String, _ left: Int
  ) async {
    _ = await gateway.send(PhonePush.message(1), to: phone("a"))
    var events = gateway.events(of: "a").makeAsyncIterator()
    var removals = Removals()
    removals.add(MessageReference(room: RoomID(unchecked: "tea"), seq: 1), isRead: true)
    let push = PhonePush(
      id: uuid(9), to: UserID(unchecked: "bob"), topic: "org.example.chat", content, removals: removals)
    _ = await gateway.send(push, to: phone("a"))
    gateway.clear("a")
    _ = await gateway.send(PhonePush.message(3), to: phone("a"))
    #expect(await events.next()?.name == name)
    #expect(gateway.phone("a").notifications.flatMap(\.contents.messages).map(\.seq) == [3])
    if left > 0 { #expect(await events.next() == .cleared(count: left)) }
    #expect(await events.next()?.name == "notification")
  }

  private func digest(_ rooms: Int, text: String = "hi", replaces: MessageReference? = nil) -> PhonePush {
    var push = PhonePush.message(9, in: "tea")
    guard case .alert(var digest) = push.content else { preconditionFailure("a message is an alert") }
    digest.newest.replaces = replaces
    digest.others = (1...rooms).map { number in
      DigestRoom(
        room: RoomID(unchecked: "room-\(number)"), count: 1, seq: 2, sender: User(id: UserID(unchecked: "ann")),
        text: text)
    }
    push.content = .alert(digest)
    return push
  }

  private func isRemoved(_ push: PhonePush, read: [(String, Int64)] = [], removed: [(String, Int64)] = []) async -> Bool
  {
    let gateway = SimulatedGateway { Timestamp(rawValue: 1_000) }
    #expect(await gateway.send(push, to: phone("a")) == .sent(.shown))
    var removals = Removals()
    for (isRead, list) in [(true, read), (false, removed)] {
      for (room, seq) in list {
        removals.add(MessageReference(room: RoomID(unchecked: room), seq: seq), isRead: isRead)
      }
    }
    let removal = PhonePush(
      id: uuid(99), to: UserID(unchecked: "bob"), topic: "org.example.chat", .removal, removals: removals)
    #expect(await gateway.send(removal, to: phone("a")) == .sent(.accepted))
    return gateway.phone("a").notifications.isEmpty
  }

  @Test func `a phone removes a digest whose messages are all read`() async {
    #expect(await !isRemoved(digest(1), read: [("tea", 9)]))
    #expect(await !isRemoved(digest(1), read: [("tea", 9), ("room-1", 1)]))
    #expect(await isRemoved(digest(1), read: [("tea", 9), ("room-1", 2)]))
    #expect(await isRemoved(digest(1), removed: [("tea", 9)]))
    #expect(await !isRemoved(digest(1), removed: [("room-1", 2)]))
  }

  @Test func `a phone knows a notification by the message that it replaced`() async {
    let replaced = MessageReference(room: RoomID(unchecked: "tea"), seq: 4)
    let push = digest(1, replaces: replaced)
    #expect(await isRemoved(push, removed: [("tea", 4)]))
    #expect(await !isRemoved(push, removed: [("tea", 9)]))
    #expect(await !isRemoved(push, read: [("tea", 4), ("room-1", 2)]))
    #expect(await isRemoved(push, read: [("tea", 9), ("room-1", 2)]))
  }

  @Test func `a phone knows the rooms of a digest that fit into the payload`() async {
    let push = digest(60, text: String(repeating: "é", count: 150))
    let rooms = push.rendered?.listedRooms ?? 0
    #expect(rooms > 1 && rooms <= Removals.maxCount)
    let marks = [("tea", Int64(9))] + (1..<rooms).map { ("room-\($0)", 2) }
    #expect(await isRemoved(push, read: marks))
    #expect(await !isRemoved(push, read: marks.dropLast()))
  }

  @Test func `every listener of a phone receives an event`() async {
    var events = [gateway.events(of: "a").makeAsyncIterator(), gateway.events(of: "a").makeAsyncIterator()]
    _ = await gateway.send(push(1), to: phone("a"))
    for index in events.indices { #expect(await events[index].next() == shown(push(1))) }
  }

  @Test func `a listener receives an event when its phone is removed`() async {
    let gateway = SimulatedGateway(maxPhones: 1) { Timestamp(rawValue: 1_000) }
    var events = gateway.events(of: "a").makeAsyncIterator()
    for number in 1...2 { _ = await gateway.send(push(number), to: phone("a")) }
    _ = await gateway.send(push(3), to: phone("b"))
    #expect(await events.next() == shown(push(1)))
    #expect(await events.next() == shown(push(2)))
    #expect(await events.next() == .cleared(count: 2))
  }

  @Test func `a listener that does not read keeps the newest 256 events`() async {
    var events = gateway.events(of: "a").makeAsyncIterator()
    for number in 1...300 { _ = await gateway.send(push(number), to: phone("a")) }
    #expect(await events.next() == shown(push(45)))
  }

  @Test func `a listener that ends is removed`() async {
    let first = gateway.events(of: "a")
    let listening = Task {
      for await _ in first {}
    }
    #expect(gateway.listenerCounts == ["a": 1])
    do {
      let second = gateway.events(of: "a")
      #expect(gateway.listenerCounts == ["a": 2])
      _ = consume second
    }
    #expect(gateway.listenerCounts == ["a": 1])
    listening.cancel()
    await listening.value
    #expect(gateway.listenerCounts == [:])
  }

  @Test func `the JSON of a phone contains the payload as it was sent`() async {
    #expect(gateway.phone("a").json == Array(#"{"notifications":[],"badge":0,"isReachable":true}"#.utf8))
    _ = await gateway.send(push(1, payload: #"{"aps":{"alert":"hi","badge":1.0}}"#), to: phone("a"))
    _ = await gateway.send(push(2), to: phone("a"))
    let expected = #"""
      {"notifications":[
      {"payload":{"aps":{"alert":"hi","badge":1.0}},"headers":{
      "apns-id":"00000000-0000-4000-8000-000000000001","apns-push-type":"alert","apns-priority":"10",
      "apns-expiration":"1700000000","apns-collapse-id":"room/1","apns-topic":"org.example.chat"},"time":1000},
      {"payload":{"n":2},"headers":{
      "apns-id":"00000000-0000-4000-8000-000000000002","apns-push-type":"alert","apns-priority":"10",
      "apns-expiration":"1700000000","apns-collapse-id":"room/2","apns-topic":"org.example.chat"},"time":1000}],"badge":1,"isReachable":false}
      """#.replacing("\n", with: "")
    gateway.setReachable(false, "a")
    #expect(String(decoding: gateway.phone("a").json, as: UTF8.self) == expected)
  }

  @Test func `an event has a name and JSON`() {
    let event = shown(push(1))
    #expect(event.name == "notification")
    #expect(event.json == ShownNotification(push: push(1), time: Timestamp(rawValue: 1_000)).json)
    #expect(LockScreenEvent.cleared(count: 3).name == "cleared")
    #expect(LockScreenEvent.cleared(count: 3).json == Array(#"{"count":3}"#.utf8))
  }
}
