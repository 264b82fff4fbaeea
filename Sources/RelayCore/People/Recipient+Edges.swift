// SPDX-License-Identifier: Apache-2.0
import RelayDelivery
package import RelayHub
import RelayProtocol

// Conversions of the hub's members into values of the delivery decision.
extension RoomMember {
  package init(_ member: MemberFacts) {
    self.init(
      marks: Marks(read: member.read, received: member.received),
      presence: RoomPresence(
        sessions: member.sessions.map(RoomSession.init),
        away: AwayFacts(since: member.awaySince, isClean: member.isClean)))
  }
}

extension RoomSession {
  package init(_ session: MemberSession) {
    self.init(
      activity: session.activity, joined: session.joined, givenFrom: session.givenFrom, received: session.received,
      acknowledges: session.acknowledges, drained: session.drained, blocked: session.blocked)
  }
}
