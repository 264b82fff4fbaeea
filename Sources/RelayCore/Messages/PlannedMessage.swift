// SPDX-License-Identifier: Apache-2.0
import RelayDelivery
import RelayHub
import RelayProtocol
import RelayStore

/// A message with all that is decided before it is stored.
struct PlannedMessage: Sendable {
  /// Answers the sender when the message is published, or is not stored.
  typealias Reply = @Sendable (isolated Relay, Result<SentMessage, StoreError>) -> Void

  let accepted: ContinuousClock.Instant
  /// Without the pushes of the plan.
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
}

/// Answers the sender of a message that the hub has published. The `delivery` events follow the reply.
final class SenderReplies: Follower {
  func follow(_ change: Change, on relay: isolated Relay) {
    if case .sent(let sent) = change { relay.answer(sent.message, .success(sent.stored), sent.reply) }
  }
}
