// SPDX-License-Identifier: Apache-2.0
import RelayDelivery
import RelayHub
import RelayJSON
import RelayProtocol

/// `delivery` of the reply to `send`: whom the message reaches, as its sender may know.
struct DeliveryReport: Equatable, Sendable {
  var live = 0
  var push = 0
  var waiting = 0
  /// The users who let the sender know that their Focus is on, or that their filter refuses their own label.
  var quiet: [UserID] = []
}

extension JSONWriter.Object {
  mutating func members(of delivery: DeliveryReport) {
    integer("live", delivery.live)
    integer("push", delivery.push)
    integer("waiting", delivery.waiting)
    array("quiet") { list in delivery.quiet.forEach { list.string($0.rawValue) } }
  }
}

extension Relay {
  /// Whom a message would reach; nil in rooms that push nothing.
  ///
  /// Who has muted the room, holds pushes back or has no device is counted like everybody else.
  /// - Parameter showsPresence: Without the right `presence` nobody is seen to be there.
  func delivery(
    of message: MessageTraits, in room: RoomHandle, _ roomName: RoomID, showsPresence: Bool
  ) -> DeliveryReport? {
    guard hub.pushes(room) else { return nil }
    guard let sender = hub.user(message.from) else {
      return DeliveryReport(push: hub.memberCount(of: room))
    }
    let (counts, candidates) = hub.delivery(in: room, from: sender)
    guard showsPresence else { return DeliveryReport(push: counts.live + counts.waiting + counts.away) }
    let now = hub.now
    let quiet = candidates.compactMap { user -> UserID? in
      guard let person = people[user], let name = hub.name(of: user) else { return nil }
      let isQuiet = person.focus.isFocused == true || person.filtersOut(roomName, now: now)
      return isQuiet ? name : nil
    }
    return DeliveryReport(live: counts.live, push: counts.away, waiting: counts.waiting, quiet: quiet.sorted())
  }
}
