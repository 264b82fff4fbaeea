// SPDX-License-Identifier: Apache-2.0
import RelayJSON
import RelayProtocol
import Testing

@testable import StillwireClient

/// The values of invitations.
@Suite struct ClientInvitationTests {
  private func json(_ text: String) -> JSON {
    guard let value = JSON(reading: Array(text.utf8)) else { preconditionFailure(text) }
    return value
  }

  private static let full = """
    {"type":"invitation","event":"added","room":"books","kind":"group","title":"Books",
    "avatar":"https://example.org/g.png","members":3,
    "by":{"user":"bob","name":"Bob","avatar":"https://example.org/b.png"},"time":5}
    """
  private static let small = #"{"room":"direct.1","kind":"direct","members":2,"by":{"user":"eve"},"time":6}"#

  @Test func `an invitation has all fields`() throws {
    let invitation = try #require(Invitation(json(Self.full)))
    #expect(invitation.room == "books" && invitation.kind == .group && invitation.title == "Books")
    #expect(invitation.avatar == "https://example.org/g.png" && invitation.memberCount == 3)
    #expect(invitation.inviter == "bob" && invitation.inviterName == "Bob")
    #expect(invitation.inviterAvatar == "https://example.org/b.png" && invitation.time == Timestamp(rawValue: 5))
    let small = try #require(Invitation(json(Self.small)))
    #expect(small.kind == .direct && small.title == nil && small.avatar == nil && small.memberCount == 2)
    #expect(small.inviter == "eve" && small.inviterName == nil && small.inviterAvatar == nil)
  }

  @Test(arguments: [
    "1", "{}", #"{"room":"tea","kind":"crowd","by":{"user":"bob"},"time":1}"#,
    #"{"room":"tea","kind":"group","time":1}"#, #"{"room":"tea","kind":"group","by":{"name":"Bob"},"time":1}"#,
    #"{"room":"tea","kind":"group","by":{"user":"bob"}}"#,
  ])
  func `other values are no invitations`(_ text: String) { #expect(Invitation(json(text)) == nil) }

  @Test func `a page has its invitations and the place of the next page`() {
    let page = InvitationPage(json(#"{"invitations":[\#(Self.small),{},\#(Self.full)],"next":"17"}"#))
    #expect(page.invitations.map(\.room) == ["direct.1", "books"] && page.next == "17")
    #expect(InvitationPage(json("{}")).invitations == [] && InvitationPage(json("{}")).next == nil)
  }

  @Test(arguments: InvitationEnd.allCases) func `an end has its cause`(_ cause: InvitationEnd) {
    let event = InvitationEvent(json(#"{"event":"ended","room":"books","cause":"\#(cause.rawValue)"}"#))
    #expect(event == .ended("books", cause))
  }

  @Test func `an end with an unknown cause, or without one, is an end`() {
    #expect(InvitationEvent(json(#"{"event":"ended","room":"books","cause":"superseded"}"#)) == .ended("books", nil))
    #expect(InvitationEvent(json(#"{"event":"ended","room":"books"}"#)) == .ended("books", nil))
  }

  @Test(arguments: [#"{"event":"ended"}"#, #"{"event":"added","room":"books"}"#, #"{"event":"moved","room":"books"}"#])
  func `other frames are no events`(_ text: String) { #expect(InvitationEvent(json(text)) == nil) }

  @Test func `an event belongs to the room of the invitation`() throws {
    let added = try #require(InvitationEvent(json(Self.full)))
    #expect(added == .added(try #require(Invitation(json(Self.full)))))
    #expect(Event.invitation(added).room == "books" && Event.invitation(.ended("tea", .expired)).room == "tea")
  }

  @Test func `a membership has the read mark and the newest message`() throws {
    let reply = #"{"room":"books","user":"ann","epoch":"e1","seq":3,"read":2,"memberCount":2}"#
    let membership = try #require(Membership(json(reply)))
    #expect(membership.room == "books" && membership.user == "ann" && membership.memberCount == 2)
    #expect(membership.position == Position(epoch: "e1", seq: 3) && membership.read == 2)
    #expect(Membership(json(#"{"room":"books","user":"ann","invited":true}"#)) == nil)
  }
}
