// SPDX-License-Identifier: Apache-2.0
import RelayDelivery
import RelayHub
import RelayProtocol
import RelayStore

/// How a message went for a recipient, as a sender hears it who asked.
enum DeliveryState: String, Sendable, CaseIterable {
  /// Read, or received by a session that was looked at.
  case received
  /// Handed to the gateway; or, of who does not let the sender know, might have been.
  case pushed
  /// The app's extension has said so.
  case onPhone
  case failed
}

/// Whose messages are reported on, while their rooms are in memory.
struct ReportedMessages {
  private struct Report {
    let message: MessageTraits
    var told: [UserID: DeliveryState] = [:]
  }

  private var rooms: [RoomHandle: [Int64: Report]] = [:]
  /// Reported on in one room at the same time; the oldest are given up.
  static let mostInRoom = 256

  subscript(room: RoomHandle, seq: Int64) -> MessageTraits? {
    get { rooms[room]?[seq]?.message }
    set {
      rooms[room, default: [:]][seq] = newValue.map { Report(message: $0) }
      guard let reports = rooms[room], reports.count > Self.mostInRoom, let oldest = reports.keys.min() else { return }
      rooms[room]?[oldest] = nil
    }
  }

  /// The messages up to `seq` of others, on which something may be told of the user.
  func messages(in room: RoomHandle, upTo seq: Int64, for user: UserID) -> [Int64] {
    rooms[room]?.filter { $0.key <= seq && $0.value.message.from != user }.keys.sorted() ?? []
  }

  /// The sender to tell; nil: there is none, or the same was told. What was received is not pushed any more.
  mutating func tell(_ state: DeliveryState, of seq: Int64, to user: UserID, in room: RoomHandle) -> UserID? {
    guard var report = rooms[room]?[seq], report.told[user] != state, report.told[user] != .received else { return nil }
    // A push that replaces the one on the phone is no step back.
    if report.told[user] == .onPhone, state == .pushed { return nil }
    report.told[user] = state
    rooms[room]?[seq] = report
    return report.message.from
  }

  mutating func forget(_ room: RoomHandle) { rooms[room] = nil }
}

extension Relay {
  /// The sender hears how it goes; not in large rooms, where nobody is told who is there.
  func report(on seq: Int64, _ message: MessageTraits, in room: RoomHandle) {
    if !hub.isLarge(room) { reports[room, seq] = message }
  }

  func report(_ state: DeliveryState, of seq: Int64, to user: UserID, in room: RoomHandle) {
    guard let name = hub.name(of: room), let sender = reports.tell(state, of: seq, to: user, in: room),
      let sessions = hub.user(sender)
    else { return }
    hub.push(
      JSONWriter.object {
        $0["type"] = "delivery"
        $0["room"] = name.rawValue
        $0.integer("seq", seq)
        $0["user"] = user.rawValue
        $0["state"] = state.rawValue
      }, to: sessions)
  }

  /// A member's marks have moved.
  func reportReceived(_ room: RoomHandle, _ user: UserHandle, upTo seq: Int64) {
    guard let name = hub.name(of: user) else { return }
    for message in reports.messages(in: room, upTo: seq, for: name) {
      // Whom the recipient has blocked learns of no receipt.
      guard let sender = reports[room, message]?.from, people[user]?.blocked.contains(sender) != true else { continue }
      report(.received, of: message, to: name, in: room)
    }
  }

  /// How the push of a message ended that is reported on.
  func reportPush(_ state: DeliveryState, of message: MessageReference, to user: UserID) {
    guard let room = hub.room(message.room), let traits = reports[room, message.seq] else { return }
    // Of somebody who is no member, and so perhaps not in memory, nobody knows what they share.
    guard let handle = hub.user(user), hub.isMember(handle, of: room) else { return }
    let person = people[handle] ?? Person()
    let recipient = person.facts(user, of: traits, in: message.room, now: hub.now)
    // Of who does not let the sender know, it was told when it was decided.
    guard person.preferences.shareFocus != .none, !recipient.isMuted, !recipient.hasBlockedSender else { return }
    report(state, of: message.seq, to: user, in: room)
  }
}
