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

  /// A message of which recipients who hide their presence from the sender are reported on at this time, whatever
  /// became of the push.
  private struct Plan {
    let room: RoomHandle
    let seq: Int64
    /// The recipients who hid their presence when the message was sent.
    let users: Set<UserHandle>
    var time: Timestamp
  }

  private var rooms: [RoomHandle: [Int64: Report]] = [:]
  private var plans: [Plan] = []
  /// When the next planned report is due, or sooner where that was given up; nil: none is planned.
  private(set) var nextPlan: Timestamp?
  /// Planned reports at the same time; the oldest are given up.
  static let maxPlans = 16_384
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

  mutating func forget(_ room: RoomHandle) {
    rooms[room] = nil
    plans.removeAll { $0.room == room }
  }

  // MARK: Hidden recipients

  /// Plans the report on recipients who hide their presence. The message is one that is reported on.
  mutating func plan(_ seq: Int64, in room: RoomHandle, of users: Set<UserHandle>, at time: Timestamp) {
    if plans.count == Self.maxPlans { plans.removeFirst() }
    plans.append(Plan(room: room, seq: seq, users: users, time: time))
    nextPlan = nextPlan.map { min($0, time) } ?? time
  }

  mutating func cancelPlan(of seq: Int64, in room: RoomHandle) {
    plans.removeAll { $0.room == room && $0.seq == seq }
  }

  /// Takes the messages whose planned reports are due, in their order. A report that was given up meanwhile is not among
  /// them.
  mutating func takePlanned(by now: Timestamp) -> [(
    room: RoomHandle, seq: Int64, sender: UserID, users: Set<UserHandle>
  )] {
    guard let next = nextPlan, next <= now else { return [] }
    let due = plans.filter { $0.time <= now }
    plans.removeAll { $0.time <= now }
    nextPlan = plans.lazy.map(\.time).min()
    return due.compactMap { plan in
      rooms[plan.room]?[plan.seq].map { (plan.room, plan.seq, $0.message.from, plan.users) }
    }
  }

  /// The wall clock was set: planned reports are due after the same time as before.
  mutating func movePlans(by step: Duration) {
    for index in plans.indices { plans[index].time = plans[index].time + step }
    nextPlan = nextPlan.map { $0 + step }
  }
}

extension Relay {
  /// The sender hears how it goes; not in large rooms, where nobody is told who is there.
  /// - Parameter time: When the message was accepted.
  func report(on seq: Int64, _ message: MessageTraits, at time: Timestamp, in room: RoomHandle) {
    guard !hub.isLarge(room) else { return }
    reports[room, seq] = message
    guard hub.pushes(room), let due = message.facts(at: time).hiddenReportTime(policy),
      let sender = hub.user(message.from)
    else { return }
    let users = Set(hub.hidden(in: room, from: sender))
    guard !users.isEmpty else { return }
    reports.plan(seq, in: room, of: users, at: due)
    armAlarm()
  }

  /// Reports on recipients who hide their presence, when that is due.
  func reportHidden() {
    for (room, seq, sender, users) in reports.takePlanned(by: hub.now) {
      guard let sender = hub.user(sender) else { continue }
      // A user who has left meanwhile, or hides nothing any more, is reported on as all others are.
      for user in hub.hidden(in: room, from: sender) where users.contains(user) {
        if let name = hub.name(of: user) { report(.pushed, of: seq, to: name, in: room) }
      }
    }
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
    // The sender gets the planned report instead.
    let isPlanned = traits.facts(at: hub.now).hiddenReportDelay(policy) != nil
    guard !isPlanned || !person.hidesPresence(from: traits.from) else { return }
    let recipient = person.facts(user, of: traits, in: message.room, now: hub.now)
    // Of who does not let the sender know, it was told when it was decided.
    guard person.preferences.shareFocus != .none, !recipient.isMuted, !recipient.hasBlockedSender else { return }
    report(state, of: message.seq, to: user, in: room)
  }
}
