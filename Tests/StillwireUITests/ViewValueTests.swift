// SPDX-License-Identifier: Apache-2.0
import Foundation
import RelayJSON
import RelayProtocol
import StillwireExtension
import Testing

@testable import StillwireClient
@testable import StillwireUI

/// The values that the views show.
@Suite struct ViewValueTests {
  private func people(_ silenced: [(UserID, String?)]) -> People {
    People().after(
      .shown(
        entries: silenced.map { Presence(user: $0.0, name: $0.1, isFocused: true) } + [Presence(user: "zoe")],
        memberCount: silenced.count + 1, onlineCount: 0))
  }

  @Test(arguments: [
    (1, "Ann has notifications silenced"), (2, "Ann and Bob have notifications silenced"),
    (3, "Ann, Bob and 1 other have notifications silenced"), (4, "Ann, Bob and 2 others have notifications silenced"),
  ]) func `a notice names at most two members`(_ count: Int, _ text: String) {
    let members: [(UserID, String?)] = [("ann", "Ann"), ("bob", "Bob"), ("cleo", "Cleo"), ("dan", "Dan")]
    #expect(SilencedNotice(people(Array(members.prefix(count))))?.text == text)
  }

  @Test func `a notice has neither the own user nor users without a Focus`() {
    #expect(SilencedNotice(people([])) == nil)
    #expect(SilencedNotice(people([("ann", nil)]), without: "ann") == nil)
    #expect(SilencedNotice(people([("ann", nil), ("bob", nil)]), without: "ann")?.names == ["bob"])
  }

  @Test func `a notice of a sent message also names users whom the room does not list`() {
    #expect(SilencedNotice(["ann", "eve"], in: people([("ann", "Ann")]))?.names == ["Ann", "eve"])
    #expect(SilencedNotice([], in: people([])) == nil)
  }

  @Test(
    arguments: [
      (nil, .offline), (Presence(user: "ann"), .offline), (Presence(user: "ann", isOnline: true), .online),
      (Presence(user: "ann", isOnline: true, activity: .active), .online),
      (Presence(user: "ann", isOnline: true, activity: .idle), .idle),
      (Presence(user: "ann", isOnline: true, isFocused: false), .online),
      (Presence(user: "ann", isOnline: true, activity: .idle, isFocused: true), .silenced),
      (Presence(user: "ann", isFocused: true), .silenced),
    ] as [(Presence?, PresenceLook)])
  func `a presence has one look`(_ presence: Presence?, _ look: PresenceLook) {
    #expect(PresenceLook(presence) == look)
  }

  @Test func `looks differ in symbol and word, not only in colour`() {
    #expect(Set(PresenceLook.allCases.map(\.symbol)).count == PresenceLook.allCases.count)
    #expect(Set(PresenceLook.allCases.map(\.word)).count == PresenceLook.allCases.count)
  }

  @Test func `an offer sends one request, and a failure opens it again`() throws {
    #expect(NotifyAnywayOffer(seq: 1, users: []) == nil)
    #expect(NotifyAnywayOffer(Sent(["seq": 1])) == nil)
    var offer = try #require(NotifyAnywayOffer(Sent(["seq": 4, "delivery": ["quiet": ["ann"]]])))
    #expect(offer.users == ["ann"] && offer.seq == 4 && offer.isOpen)
    let (first, second) = (offer.begin(), offer.begin())
    #expect(first && !second && offer.step == .sending)
    offer.end(.failure(.timeout))
    #expect(offer.isOpen && offer.step == .offered(.timeout))
    let third = offer.begin()
    #expect(third)
    offer.end(.success(1))
    #expect(!offer.isOpen && offer.step == .notified(1))
  }
}

/// The switch that shares the Focus.
@Suite struct FocusChoiceTests {
  /// A choice whose value the relay has answered.
  private func choice(_ stored: Bool) -> FocusChoice {
    var choice = FocusChoice()
    _ = choice.answered(.success(stored), to: nil)
    return choice
  }

  @Test func `the switch is off and fixed until the relay has answered`() {
    #expect(!FocusChoice().isOn && !FocusChoice().isKnown)
    #expect(choice(true).isOn && choice(true).isKnown)
  }

  @Test func `the switch shows a change immediately, and sends it once`() {
    var choice = choice(false)
    #expect(choice.choose(true) == true)
    #expect(choice.isOn && choice.stored == false)
    #expect(choice.answered(.success(true), to: true) == nil)
    #expect(choice.isOn && choice.stored == true && choice.wanted == nil)
    #expect(choice.choose(true) == nil)
    #expect(choice.wanted == nil)
  }

  @Test func `a second change waits for the first answer`() {
    var choice = choice(false)
    #expect(choice.choose(true) == true)
    #expect(choice.choose(false) == nil)
    #expect(!choice.isOn)
    #expect(choice.answered(.success(true), to: true) == false)
    #expect(choice.answered(.success(false), to: false) == nil)
    #expect(!choice.isOn && choice.wanted == nil)
  }

  @Test func `a second change back needs no request`() {
    var choice = choice(false)
    #expect(choice.choose(true) == true)
    #expect(choice.choose(false) == nil)
    #expect(choice.choose(true) == nil)
    #expect(choice.answered(.success(true), to: true) == nil)
    #expect(choice.isOn)
  }

  @Test func `a refusal returns the switch, and the next change clears the error`() {
    var choice = choice(false)
    #expect(choice.choose(true) == true)
    #expect(choice.answered(.failure(.closed), to: true) == nil)
    #expect(!choice.isOn && choice.error == .closed)
    #expect(choice.choose(true) == true)
    #expect(choice.error == nil)
  }

  @Test func `a reading that arrives late does not move the switch`() {
    var choice = choice(false)
    #expect(choice.choose(true) == true)
    #expect(choice.answered(.success(false), to: nil) == nil)
    #expect(choice.isOn)
    #expect(choice.answered(.failure(.timeout), to: nil) == nil)
    #expect(choice.isOn)
    #expect(choice.answered(.success(true), to: true) == nil)
    #expect(choice.isOn && choice.stored == true)
  }

  @Test func `an answer with another value does not send for ever`() {
    var choice = choice(false)
    #expect(choice.choose(true) == true)
    #expect(choice.answered(.success(false), to: true) == nil)
    #expect(!choice.isOn)
  }
}

/// The values of a donation.
@Suite struct OutgoingConversationTests {
  private func people(_ count: Int) -> People {
    People().after(
      .shown(
        entries: (1...count).map { Presence(user: UserID(rawValue: "u\($0)")!, name: "U\($0)") }, memberCount: count,
        onlineCount: 0))
  }

  @Test func `the own user is no recipient`() {
    let conversation = OutgoingConversation("tea", people: people(3), without: "u2", groupName: "Tea")
    #expect(conversation.recipients.map(\.displayName) == ["U1", "U3"])
    #expect(conversation.recipients.map(\.handle) == ["u1", "u3"])
    #expect(conversation.groupName == "Tea" && conversation.identifier == "tea")
  }

  /// Senders as the payload names them.
  static let senders = [
    PayloadPerson(id: "u1", name: "U1"), PayloadPerson(id: "u1", name: "U1", handle: "+43 1 234", handleType: "phone"),
    PayloadPerson(id: "u1", name: "U1", handle: "u1@example.org", handleType: "email"),
    PayloadPerson(id: "u1", name: "U1", handle: "@u1:example.org", handleType: "matrix"),
  ]

  @Test(arguments: senders.indices) func `the outgoing person equals the incoming person`(_ index: Int) throws {
    let payload = CommunicationPayload(
      sender: Self.senders[index], conversation: PayloadConversation(id: "tea"), recipient: "u2")
    guard case .sendMessage(let incoming) = IntentFields(payload) else { throw CancellationError() }
    let book = PersonBook(folder: FileManager.default.temporaryDirectory.appending(path: "people-\(UUID())"))
    defer { book.removeAll() }
    book.store(incoming.sender)
    let outgoing = OutgoingConversation("tea", people: people(2), without: "u2", book: book)
    #expect(outgoing.recipients == [incoming.sender])
    #expect(outgoing.identifier == incoming.conversationIdentifier)
    #expect(outgoing.donationGroup == payload.donationGroup)
  }

  @Test func `a large room has no recipients`() {
    let max = OutgoingConversation.maxRecipients
    #expect(OutgoingConversation("tea", people: people(max + 1), without: "u1").recipients.count == max)
    #expect(OutgoingConversation("tea", people: people(max + 2), without: "u1").recipients.isEmpty)
  }
}
