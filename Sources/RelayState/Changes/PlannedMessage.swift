// SPDX-License-Identifier: Apache-2.0
package import RelayDelivery
package import RelayHub
package import RelayJSON
package import RelayProtocol
package import RelayStore

/// A message with all that is decided before it is stored. An object, because the followers of each message share it.
package final class PlannedMessage: Sendable {
  /// Answers the sender when the message is published, or is not stored.
  package typealias Reply = (Result<SentMessage, StoreError>) -> Void

  package let accepted: ContinuousClock.Instant
  package let queued: QueuedMessage
  package let handle: RoomHandle
  /// The session that sends the message and does not receive it.
  package let session: SessionHandle?
  package let traits: MessageTraits
  package let isReported: Bool
  package let isCrowded: Bool
  /// The members that need no wait, see ``Hub/away(in:sender:rings:isReported:named:)``. With a decided ticket, the
  /// relay decides their pushes together with the message. Is empty if the message requests no push.
  package let away: [UserHandle]
  package let ticket: MessageDecisions.Ticket
  package let plan: Plan
  /// True if the pushes of some members are decided later.
  package let isWaitedFor: Bool
  package let delivery: DeliverySummary?

  package var isCall: Bool { traits.push.kind == .call }

  package init(
    accepted: ContinuousClock.Instant, queued: QueuedMessage, handle: RoomHandle, session: SessionHandle?,
    traits: MessageTraits, isReported: Bool, isCrowded: Bool, away: [UserHandle], ticket: MessageDecisions.Ticket,
    plan: Plan, isWaitedFor: Bool, delivery: DeliverySummary?
  ) {
    (self.accepted, self.queued, self.handle, self.session) = (accepted, queued, handle, session)
    (self.traits, self.isReported, self.isCrowded, self.away) = (traits, isReported, isCrowded, away)
    (self.ticket, self.plan, self.isWaitedFor, self.delivery) = (ticket, plan, isWaitedFor, delivery)
  }
}

/// The result of sending a message.
package struct SentMessage: Sendable {
  package var stored: Appended
  /// Is `nil` for a duplicate, and in a room that pushes nothing.
  package var delivery: DeliverySummary?

  package init(stored: Appended, delivery: DeliverySummary? = nil) {
    (self.stored, self.delivery) = (stored, delivery)
  }
}

/// The member `delivery` of the reply to `send`: the users that the message reaches, as far as the sender may know.
package struct DeliverySummary: Equatable, Sendable {
  package var live = 0
  package var push = 0
  package var waiting = 0
  /// The users whose Focus is on, or whose filter refuses their own label, and who share this with the sender.
  package var silenced: [UserID] = []

  package init(live: Int = 0, push: Int = 0, waiting: Int = 0, silenced: [UserID] = []) {
    (self.live, self.push, self.waiting, self.silenced) = (live, push, waiting, silenced)
  }
}

extension JSONWriter.Object {
  package mutating func members(of delivery: DeliverySummary) {
    integer("live", delivery.live)
    integer("push", delivery.push)
    integer("waiting", delivery.waiting)
    array("quiet") { list in delivery.silenced.forEach { list.string($0.rawValue) } }
  }
}
