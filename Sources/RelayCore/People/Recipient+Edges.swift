// SPDX-License-Identifier: Apache-2.0
import RelayDelivery
package import RelayHub
package import RelayProtocol
package import RelayStore

/// Conversions of stored users, and of the hub's members, into values of the delivery decision.
extension Recipient {
  /// Makes the recipient of a stored user, and applies the changes by time since then.
  package init(_ record: UserRecord, now: Timestamp) {
    self.init()
    focus = FocusLedger(record.focus)
    filters = FilterLedger(record.filters)
    devices = record.devices
    preferences = record.preferences
    blocked = record.blocks
    withdrawn = record.withdrawn
    status = record.status
    advance(to: now)
  }
}

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
