// SPDX-License-Identifier: Apache-2.0
// Tests the sequences of messages, events and people: their limits, their order and their end.
import RelayJSON
import RelayProtocol
import Testing

@testable import StillwireClient

@Suite struct MailboxTests {
  private let listeners = Listeners()

  private func emit(_ seqs: ClosedRange<Int64>) {
    for seq in seqs {
      listeners.emit(.message(Message(room: "tea", seq: seq, from: "bob", time: nil, body: .null)))
    }
  }

  @Test func `beyond the limit the oldest messages are lost, and the next one has a gap mark`() async {
    let messages = listeners.messages(in: "tea", limit: 3)
    emit(1...10)
    var iterator = messages.makeAsyncIterator()
    var taken: [Message] = []
    for _ in 0..<3 { taken.append(await iterator.next()!) }
    #expect(taken.map(\.seq) == [8, 9, 10])
    #expect(taken.map(\.isAfterGap) == [true, false, false])
  }

  @Test func `a limit of one keeps the newest message, with a gap mark`() async {
    let messages = listeners.messages(in: "tea", limit: 1)
    emit(1...2)
    var iterator = messages.makeAsyncIterator()
    let message = await iterator.next()
    #expect(message?.seq == 2)
    #expect(message?.isAfterGap == true)
  }

  @Test func `an event replaces lost events`() async {
    let events = listeners.events(limit: 3)
    emit(1...5)
    var iterator = events.makeAsyncIterator()
    var taken: [Event] = []
    for _ in 0..<3 { taken.append(await iterator.next()!) }
    #expect(taken.first == .missed)
    #expect(taken.dropFirst().compactMap(\.room).count == 2)
  }

  @Test func `a reader of people gets the present state first, and later only the newest`() async {
    listeners.emit(.peopleChanged("tea", People().after(.counted(memberCount: 1, onlineCount: 0))))
    let people = listeners.crowd(in: "tea")
    var iterator = people.makeAsyncIterator()
    #expect(await iterator.next()?.memberCount == 1)
    for count in 2...5 {
      listeners.emit(.peopleChanged("tea", People().after(.counted(memberCount: count, onlineCount: 0))))
    }
    #expect(await iterator.next()?.memberCount == 5)
  }

  @Test func `a waiting reader receives a message immediately`() async {
    let messages = listeners.messages(in: "tea", limit: 3)
    let reader = Task {
      var iterator = messages.makeAsyncIterator()
      return await iterator.next()?.seq
    }
    emit(1...1)
    #expect(await reader.value == 1)
  }

  @Test func `cancellation ends the sequence, and removes its reader`() async {
    let messages = listeners.messages(in: "tea", limit: 3)
    let reader = Task {
      for await _ in messages {}
      return true
    }
    reader.cancel()
    #expect(await reader.value)
    #expect(messages.mailbox.isOver)
  }

  @Test func `a released sequence is removed`() async {
    var messages: Subscription<Message>? = listeners.messages(in: "tea", limit: 3)
    weak let mailbox = messages?.mailbox
    #expect(mailbox != nil)
    messages = nil
    #expect(mailbox == nil)
    emit(1...1)
  }

  @Test func `the sequence ends with its client`() async {
    var owner: Listeners? = Listeners()
    let events = owner!.events(limit: 4)
    owner = nil
    for await _ in events { Issue.record("nothing happened") }
  }
}
