// SPDX-License-Identifier: Apache-2.0
import RelayDelivery
import RelayHub
import RelayProtocol
import RelayStore

/// A message with all that is decided before it is stored. An object, because the followers of each message share it.
final class PlannedMessage: Sendable {
  /// Answers the sender when the message is published, or is not stored.
  typealias Reply = (Result<SentMessage, StoreError>) -> Void

  let accepted: ContinuousClock.Instant
  let draft: MessageDraft
  let handle: RoomHandle
  /// The session that sends the message and does not receive it.
  let session: SessionHandle?
  let traits: MessageTraits
  let isReported: Bool
  let isCrowded: Bool
  /// The members without a session.
  let away: [UserHandle]
  let ticket: MessageDecisions.Ticket
  let plan: Plan
  /// True if the pushes of some members are decided later.
  let isWaitedFor: Bool
  let delivery: DeliveryReport?

  var isCall: Bool { traits.push.kind == .call }

  init(
    accepted: ContinuousClock.Instant, draft: MessageDraft, handle: RoomHandle, session: SessionHandle?,
    traits: MessageTraits, isReported: Bool, isCrowded: Bool, away: [UserHandle], ticket: MessageDecisions.Ticket,
    plan: Plan, isWaitedFor: Bool, delivery: DeliveryReport?
  ) {
    (self.accepted, self.draft, self.handle, self.session) = (accepted, draft, handle, session)
    (self.traits, self.isReported, self.isCrowded, self.away) = (traits, isReported, isCrowded, away)
    (self.ticket, self.plan, self.isWaitedFor, self.delivery) = (ticket, plan, isWaitedFor, delivery)
  }
}

/// Answers the sender of a message that the hub has published. The `delivery` events follow the reply.
final class SenderReplies: Follower {
  private let messages: Messages

  init(_ messages: Messages) { self.messages = messages }

  func follow(_ change: Change, on core: isolated Core) {
    if case .sent(let sent) = change { messages.answer(sent.message, .success(sent.stored), sent.reply, on: core) }
  }
}
