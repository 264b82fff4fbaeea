// SPDX-License-Identifier: Apache-2.0
import RelayDelivery
import RelayHub
import RelayProtocol
import RelayState

extension Deliveries {
  /// Returns the users that a message would reach, or `nil` in a room that pushes nothing.
  ///
  /// The counts do not depend on muted rooms, holds or missing devices, so that the sender cannot detect them.
  /// - Parameter showsPresence: False if the sender lacks the right `presence` and must not see presence.
  func deliverySummary(
    of message: MessageTraits, in room: RoomHandle, _ roomName: RoomID, showsPresence: Bool, on core: isolated Core
  ) -> DeliverySummary? {
    let hub = core.hub
    guard hub.pushes(room) else { return nil }
    guard let sender = hub.user(message.from) else {
      return DeliverySummary(push: hub.memberCount(of: room))
    }
    let (counts, candidates) = hub.delivery(in: room, from: sender)
    guard showsPresence else { return DeliverySummary(push: counts.live + counts.waiting + counts.away) }
    let now = hub.now
    let silenced = candidates.compactMap { user -> UserID? in
      guard let name = hub.name(of: user) else { return nil }
      let recipient = recipients[user]
      return recipient.focus.isFocused == true || recipient.filtersOut(roomName, now: now) ? name : nil
    }
    return DeliverySummary(live: counts.live, push: counts.away, waiting: counts.waiting, silenced: silenced.sorted())
  }
}
