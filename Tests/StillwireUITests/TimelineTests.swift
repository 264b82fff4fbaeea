// SPDX-License-Identifier: Apache-2.0
import RelayJSON
import RelayProtocol
import Testing

@testable import StillwireClient
@testable import StillwireUI

@Suite struct TimelineTests {
  private func message(_ seq: Int64, _ text: String = "tea") -> Message {
    Message(room: "tea", seq: seq, from: "ann", time: nil, body: .string(text))
  }

  private func timeline(_ seqs: [Int64], limit: Int = 500) -> Timeline {
    var timeline = Timeline(limit: limit)
    for seq in seqs { timeline.add(message(seq)) }
    return timeline
  }

  @Test(arguments: [[1, 2, 3], [3, 2, 1], [2, 1, 3, 2, 1], [3, 1, 2]] as [[Int64]])
  func `each message is there once, in the order of the room`(_ seqs: [Int64]) {
    #expect(timeline(seqs).messages.map(\.seq) == [1, 2, 3])
  }

  @Test func `a message with a known seq replaces the former one`() {
    var timeline = timeline([1, 2])
    timeline.add(message(1, "coffee"))
    #expect(timeline.messages.map(\.text) == ["coffee", "tea"])
  }

  @Test func `beyond the limit the timeline loses the oldest messages, and can load them again`() {
    let timeline = timeline([1, 2, 3, 4], limit: 3)
    #expect(timeline.messages.map(\.seq) == [2, 3, 4])
    #expect(timeline.hasEarlier)
  }

  @Test(arguments: [[1], [1, 2]] as [[Int64]])
  func `a full timeline adds nothing at its beginning`(_ page: [Int64]) {
    var timeline = timeline([5, 6, 7], limit: 3)
    timeline.add(page: page.map { message($0) }, hasMore: false)
    #expect(timeline.messages.map(\.seq) == [5, 6, 7])
    #expect(timeline.hasEarlier)
  }

  @Test func `a page before the first message states whether the room has more`() {
    var timeline = timeline([5])
    timeline.add(page: [message(3), message(4)], hasMore: true)
    #expect(timeline.messages.map(\.seq) == [3, 4, 5])
    #expect(timeline.hasEarlier)
    timeline.add(page: [message(1), message(2)], hasMore: false)
    #expect(timeline.messages.map(\.seq) == [1, 2, 3, 4, 5])
    #expect(!timeline.hasEarlier)
    // The newest page, after a gap, says nothing about the beginning.
    timeline.add(page: [message(5), message(6)], hasMore: true)
    #expect(timeline.messages.map(\.seq) == [1, 2, 3, 4, 5, 6])
    #expect(!timeline.hasEarlier)
  }

  @Test func `an empty page ends the history`() {
    var timeline = timeline([2, 3], limit: 2)
    timeline.add(page: [message(1)], hasMore: true)
    #expect(timeline.hasEarlier)
    timeline = self.timeline([2])
    timeline.add(page: [], hasMore: false)
    #expect(!timeline.hasEarlier)
  }

  @Test func `edits and deletions change the message`() {
    var timeline = timeline([1, 2, 3])
    timeline.apply(Frame(["type": "edited", "room": "tea", "seq": 1, "body": ["text": "coffee"]]))
    timeline.apply(Frame(["type": "deleted", "room": "tea", "seq": 2]))
    let reactions: JSON = [["key": "👍", "count": 1, "users": ["bob"]], ["key": "bad"]]
    timeline.apply(Frame(["type": "reactions", "room": "tea", "seq": 1, "reactions": reactions]))
    #expect(timeline.messages[0].reactions == [Reaction(key: "👍", count: 1, users: ["bob"])])
    timeline.apply(Frame(["type": "edited", "room": "tea", "seq": 9, "body": "nobody"]))
    timeline.apply(Frame(["type": "receipt", "room": "tea", "seq": 3]))
    #expect(timeline.messages.map(\.text) == ["coffee", nil, "tea"])
    #expect(timeline.messages.map(\.isDeleted) == [false, true, false])
    #expect(timeline.messages.map(\.from) == ["ann", nil, "ann"])
    #expect(timeline.messages[1].moderator == nil)
    timeline.apply(Frame(["type": "deleted", "room": "tea", "seq": 3, "by": "bob"]))
    #expect(timeline.messages[2].moderator == "bob")
  }

  @Test func `edits and deletions change the quotes of the message`() {
    var timeline = timeline([1, 2])
    for (seq, quote) in [
      (3, Quote(seq: 1, from: "ann", preview: "tea")), (4, Quote(seq: 2, from: "ann", preview: "tea")),
      // The room has no previews.
      (5, Quote(seq: 1, from: "ann")), (6, nil),
    ] as [(Int64, Quote?)] {
      var reply = message(seq)
      (reply.replyTo, reply.quote) = (quote?.seq ?? 1, quote)
      timeline.add(reply)
    }
    let long = String(repeating: "x", count: 161)
    timeline.apply(Frame(["type": "edited", "room": "tea", "seq": 1, "body": ["text": .string(long)]]))
    timeline.apply(Frame(["type": "deleted", "room": "tea", "seq": 2]))
    let cut = String(repeating: "x", count: 159) + "…"
    #expect(
      timeline.messages.dropFirst(2).map(\.quote) == [
        Quote(seq: 1, from: "ann", preview: cut), Quote(seq: 2, from: "ann", isDeleted: true),
        Quote(seq: 1, from: "ann"), nil,
      ])
    // The quoted message may be older than the timeline.
    timeline = Timeline()
    var reply = message(9)
    reply.quote = Quote(seq: 1, from: "ann", preview: "tea")
    timeline.add(reply)
    timeline.apply(Frame(["type": "edited", "room": "tea", "seq": 1, "body": 7]))
    #expect(timeline.messages[0].quote == Quote(seq: 1, from: "ann"))
    timeline.apply(Frame(["type": "deleted", "room": "tea", "seq": 9]))
    #expect(timeline.messages[0].quote == nil)
  }

  @Test func `the user's own changes are shown, and changes of unknown messages are ignored`() {
    var timeline = timeline([1, 2])
    timeline.edit(1, body: "coffee")
    let reactions = [Reaction(key: "👍", count: 1, users: ["ann"])]
    timeline.setReactions(of: 1, to: reactions)
    #expect(timeline.messages[0].text == "coffee" && timeline.messages[0].reactions == reactions)
    timeline.delete(1)
    #expect(timeline.messages[0].isDeleted && timeline.messages[0].from == nil)
    #expect(timeline.messages[0].reactions == [] && timeline.messages[0].body == .null)
    let before = timeline
    timeline.edit(3, body: "?")
    timeline.delete(3)
    timeline.setReactions(of: 3, to: reactions)
    #expect(timeline == before)
  }
}
