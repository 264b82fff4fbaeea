// SPDX-License-Identifier: Apache-2.0
import RelayJSON
import RelayProtocol
import Testing

@testable import StillwireClient

@Suite struct MailboxTests {
  private let listeners = Listeners()

  private func tell(_ seqs: ClosedRange<Int64>) {
    for seq in seqs {
      listeners.tell(.message(Message(room: "tea", seq: seq, from: "bob", time: nil, body: .null)))
    }
  }

  @Test func `beyond the limit the oldest are lost, and the next one says so`() async {
    let messages = listeners.messages(in: "tea", limit: 3)
    tell(1...10)
    var iterator = messages.makeAsyncIterator()
    var taken: [Message] = []
    for _ in 0..<3 { taken.append(await iterator.next()!) }
    #expect(taken.map(\.seq) == [8, 9, 10])
    #expect(taken.map(\.isAfterGap) == [true, false, false])
  }

  @Test func `a limit of one keeps the newest, after a gap`() async {
    let messages = listeners.messages(in: "tea", limit: 1)
    tell(1...2)
    var iterator = messages.makeAsyncIterator()
    let message = await iterator.next()
    #expect(message?.seq == 2)
    #expect(message?.isAfterGap == true)
  }

  @Test func `lost events are stood for`() async {
    let events = listeners.events(limit: 3)
    tell(1...5)
    var iterator = events.makeAsyncIterator()
    var taken: [Event] = []
    for _ in 0..<3 { taken.append(await iterator.next()!) }
    #expect(taken.first == .missed)
    #expect(taken.dropFirst().compactMap(\.room).count == 2)
  }

  @Test func `of people only the newest state counts, and the first is the present one`() async {
    listeners.tell(.peopleChanged("tea", People().after(.counted(memberCount: 1, onlineCount: 0))))
    let people = listeners.crowd(in: "tea")
    var iterator = people.makeAsyncIterator()
    #expect(await iterator.next()?.memberCount == 1)
    for count in 2...5 {
      listeners.tell(.peopleChanged("tea", People().after(.counted(memberCount: count, onlineCount: 0))))
    }
    #expect(await iterator.next()?.memberCount == 5)
  }

  @Test func `a reader that waits is told at once`() async {
    let messages = listeners.messages(in: "tea", limit: 3)
    let reader = Task {
      var iterator = messages.makeAsyncIterator()
      return await iterator.next()?.seq
    }
    tell(1...1)
    #expect(await reader.value == 1)
  }

  @Test func `cancellation ends the reading, and the reader is forgotten`() async {
    let messages = listeners.messages(in: "tea", limit: 3)
    let reader = Task {
      for await _ in messages {}
      return true
    }
    reader.cancel()
    #expect(await reader.value)
    #expect(messages.mailbox.isOver)
  }

  @Test func `nobody is told for ever`() async {
    var messages: Told<Message>? = listeners.messages(in: "tea", limit: 3)
    weak let mailbox = messages?.mailbox
    #expect(mailbox != nil)
    messages = nil
    #expect(mailbox == nil)
    tell(1...1)
  }

  @Test func `the sequence ends with its client`() async {
    var told: Listeners? = Listeners()
    let events = told!.events(limit: 4)
    told = nil
    for await _ in events { Issue.record("nothing happened") }
  }
}
