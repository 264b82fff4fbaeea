// SPDX-License-Identifier: Apache-2.0
// Tests the progress of the app in one room: order, gaps, recovery and read marks.
import RelayJSON
import RelayProtocol
import Testing

@testable import StillwireClient

@Suite struct RoomTrackTests {
  private var track = RoomTrack(room: "tea", history: 0)

  private func message(_ seq: Int64, from: UserID = "bob") -> Message {
    Message(room: "tea", seq: seq, from: from, time: nil, body: .null)
  }

  private func reply(
    _ seq: Int64, epoch: String = "e1", recovered: Bool? = nil, messages: [Int64] = [], read: Int64 = 0
  ) -> JSON {
    var reply: [String: JSON] = [
      "epoch": .string(epoch), "seq": .number(String(seq)), "read": .number(String(read)),
      "messages": .array(messages.map { ["seq": .number(String($0)), "from": "bob", "time": 1, "body": 1] }),
    ]
    reply["recovered"] = recovered.map(JSON.bool)
    return .object(reply)
  }

  @discardableResult
  private mutating func join(_ reply: JSON) -> [Message] {
    (track.joinAnswered(reply, me: "ann")?.events ?? []).compactMap {
      if case .message(let message) = $0 { message } else { nil }
    }
  }

  @Test mutating func `messages are shown once and in order`() {
    join(reply(5))
    #expect(track.arrived(message(6), me: "ann", isSending: false).shown.map(\.seq) == [6])
    #expect(track.arrived(message(6), me: "ann", isSending: false).shown.isEmpty)
    #expect(track.arrived(message(5), me: "ann", isSending: false).shown.isEmpty)
    #expect(track.position == Position(epoch: "e1", seq: 6))
  }

  @Test mutating func `the client joins again after a gap, unless its own pending message may fill it`() {
    join(reply(0))
    let early = track.arrived(message(2), me: "ann", isSending: true)
    #expect(early == RoomTrack.Arrival())
    let filled = track.arrived(message(1, from: "ann"), me: "ann", isSending: false)
    #expect(filled.shown.map(\.seq) == [1, 2])
    #expect(filled.shown.map(\.isOwn) == [true, false])
    #expect(track.arrived(message(4), me: "ann", isSending: false).needsJoin == true)
  }

  @Test mutating func `the number of held messages is limited`() {
    join(reply(0))
    for seq in 2...Int64(RoomTrack.maxHeld + 1) {
      #expect(track.arrived(message(seq), me: "ann", isSending: true).needsJoin == false)
    }
    #expect(track.arrived(message(5_000), me: "ann", isSending: true).needsJoin == true)
  }

  @Test mutating func `missed messages are complete up to the seq of the reply`() {
    join(reply(5))
    track.connectionLost()
    #expect(join(reply(9, recovered: true, messages: [5, 6, 8])).map(\.seq) == [6, 8])
    #expect(track.position?.seq == 9)
  }

  @Test mutating func `a reset is an event, and the next message has a gap mark`() {
    join(reply(5))
    track.connectionLost()
    let joined = track.joinAnswered(reply(900, recovered: false, messages: [899, 900]), me: "ann")
    let position = Position(epoch: "e1", seq: 900)
    #expect(joined?.events.prefix(2) == [.joined("tea", position, isRecovered: false), .reset("tea", position, .gap)])
    let messages = joined?.events.compactMap { if case .message(let message) = $0 { message } else { nil } }
    #expect(messages?.map(\.isAfterGap) == [true, false])
  }

  @Test mutating func `a reset in the same epoch repeats no messages`() {
    join(reply(5))
    track.connectionLost()
    #expect(join(reply(7, recovered: false, messages: [4, 5, 6, 7])).map(\.seq) == [6, 7])
  }

  @Test mutating func `another epoch resets marks and positions`() {
    join(reply(50))
    #expect(track.markRead(50) == true)
    track.connectionLost()
    let joined = track.joinAnswered(reply(3, epoch: "e2", recovered: false, messages: [3]), me: "ann")
    #expect(joined?.events.contains(.reset("tea", Position(epoch: "e2", seq: 3), .epoch)) == true)
    #expect(joined?.read == nil)
    #expect(track.markRead(1) == true)
  }

  @Test mutating func `a read mark that the relay has missed is sent again`() {
    join(reply(9))
    #expect(track.markRead(8) == true)
    #expect(track.markRead(8) == false)
    #expect(track.joinAnswered(reply(9, recovered: true, read: 5), me: "ann")?.read == 8)
    #expect(track.joinAnswered(reply(9, recovered: true, read: 9), me: "ann")?.read == nil)
  }

  @Test
  mutating func `the reply to an own change changes the quotes of held replies, unless a later change was earlier`() {
    struct Outcome: Equatable {
      let needsJoin: Bool
      let quote: Quote?
    }
    func changed(
      _ track: RoomTrack, _ request: String, _ seq: Int64, _ number: Int64, after later: Int64? = nil
    ) -> Outcome {
      var track = track
      if let later { _ = track.changeArrived(Frame(["type": "reactions", "change": .number(String(later))])) }
      let event = Frame(changeBy: request, ["seq": .number(String(seq)), "body": "Coffee?"])
      let needsJoin = track.changeAnswered(number, event)
      return Outcome(
        needsJoin: needsJoin, quote: track.arrived(message(6), me: "ann", isSending: false).shown.last?.quote)
    }
    guard case .object(var members) = reply(5) else { return }
    members["change"] = 0
    join(.object(members))
    var early = message(7)
    let quote = Quote(seq: 2, from: "ann", preview: "Tea?")
    early.quote = quote
    _ = track.arrived(early, me: "ann", isSending: true)
    let edited = Quote(seq: 2, from: "ann", preview: "Coffee?")
    #expect(changed(track, "edit", 2, 1) == Outcome(needsJoin: false, quote: edited))
    let deleted = Quote(seq: 2, from: "ann", isDeleted: true)
    #expect(changed(track, "delete", 2, 1) == Outcome(needsJoin: false, quote: deleted))
    for (request, seq) in [("edit", 3), ("pin", 2)] as [(String, Int64)] {
      #expect(changed(track, request, seq, 1) == Outcome(needsJoin: false, quote: quote))
    }
    // The app has the change already.
    #expect(changed(track, "edit", 2, 0) == Outcome(needsJoin: false, quote: quote))
    // The quote may be that of the later change.
    #expect(changed(track, "edit", 2, 1, after: 2) == Outcome(needsJoin: true, quote: quote))
    #expect(changed(track, "edit", 3, 1, after: 2) == Outcome(needsJoin: false, quote: quote))
    // The message itself is held.
    #expect(changed(track, "edit", 7, 1) == Outcome(needsJoin: true, quote: quote))
  }

  @Test mutating func `no message is shown while a join is pending`() {
    join(reply(5))
    track.phase = .joining
    #expect(track.arrived(message(6), me: "ann", isSending: false) == RoomTrack.Arrival())
    track.phase = .joined
    #expect(track.arrived(message(6), me: "ann", isSending: false).shown.count == 1)
  }

  @Test mutating func `a reply without a position is rejected`() {
    #expect(track.joinAnswered(["room": "tea"], me: "ann") == nil)
    #expect(track.position == nil)
  }
}
