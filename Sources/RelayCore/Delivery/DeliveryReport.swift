// SPDX-License-Identifier: Apache-2.0
import RelayDelivery
import RelayHub
import RelayJSON
package import RelayProtocol

/// The member `delivery` of the reply to `send`: the users that the message reaches, as far as the sender may know.
package struct DeliveryReport: Equatable, Sendable {
  package var live = 0
  package var push = 0
  package var waiting = 0
  /// The users whose Focus is on, or whose filter refuses their own label, and who share this with the sender.
  package var silenced: [UserID] = []
}

extension JSONWriter.Object {
  package mutating func members(of delivery: DeliveryReport) {
    integer("live", delivery.live)
    integer("push", delivery.push)
    integer("waiting", delivery.waiting)
    array("quiet") { list in delivery.silenced.forEach { list.string($0.rawValue) } }
  }
}

extension Deliveries {
  /// Returns the users that a message would reach, or `nil` in a room that pushes nothing.
  ///
  /// The counts do not depend on muted rooms, holds or missing devices, so that the sender cannot detect them.
  /// - Parameter showsPresence: False if the sender lacks the right `presence` and must not see presence.
  func deliveryReport(
    of message: MessageTraits, in room: RoomHandle, _ roomName: RoomID, showsPresence: Bool, on core: isolated Core
  ) -> DeliveryReport? {
    let hub = core.hub
    guard hub.pushes(room) else { return nil }
    guard let sender = hub.user(message.from) else {
      return DeliveryReport(push: hub.memberCount(of: room))
    }
    let (counts, candidates) = hub.delivery(in: room, from: sender)
    guard showsPresence else { return DeliveryReport(push: counts.live + counts.waiting + counts.away) }
    let now = hub.now
    let silenced = candidates.compactMap { user -> UserID? in
      guard let name = hub.name(of: user) else { return nil }
      let recipient = recipients[user]
      return recipient.focus.isFocused == true || recipient.filtersOut(roomName, now: now) ? name : nil
    }
    return DeliveryReport(live: counts.live, push: counts.away, waiting: counts.waiting, silenced: silenced.sorted())
  }
}
