// SPDX-License-Identifier: Apache-2.0
import RelayHub
import RelayProtocol
import RelayState

/// The messages whose senders requested `delivery` events. They are kept while their rooms are in memory.
struct TrackedMessages {
  private struct Tracked {
    let traits: MessageTraits
    var sent: [UserID: DeliveryState] = [:]
    var plan: Plan?
  }

  /// The recipients who hid their presence from the sender when the message was sent. The relay sends `pushed` about
  /// them at a fixed time. This event does not depend on the result of the push.
  private struct Plan {
    let users: Set<UserHandle>
    var time: Timestamp
  }

  /// A planned event, in the order of time. The plan of the message may have been cancelled.
  private struct Entry {
    let room: RoomHandle
    let seq: Int64
    var time: Timestamp
  }

  private var rooms: [RoomHandle: [Int64: Tracked]] = [:]
  /// The newest message before the membership of a user began. Has no entry if no message was tracked before.
  private var begins: [RoomHandle: [UserID: Int64]] = [:]
  private var line = Line<Entry>()
  /// The sum of the users in all plans.
  private(set) var plannedUsers = 0
  /// The maximum number of planned events. Beyond it the oldest are dropped.
  static let maxPlans = 16_384
  /// The maximum number of users in all planned events together. Beyond it the oldest events are dropped.
  static let maxPlannedUsers = 262_144
  /// The maximum number of tracked messages in one room. Beyond it the oldest are dropped.
  static let maxInRoom = 256

  /// The time of the next planned event, or an earlier time if that event was dropped. Is `nil` if none is planned.
  var nextPlan: Timestamp? { line.first?.time }

  subscript(room: RoomHandle, seq: Int64) -> MessageTraits? {
    get { rooms[room]?[seq]?.traits }
    set {
      cancelPlan(of: seq, in: room)
      rooms[room, default: [:]][seq] = newValue.map { Tracked(traits: $0) }
      guard let messages = rooms[room], messages.count > Self.maxInRoom, let oldest = messages.keys.min() else {
        return
      }
      cancelPlan(of: oldest, in: room)
      rooms[room]?[oldest] = nil
    }
  }

  /// The messages of other users up to `seq`, whose senders may receive an event about the user.
  func messages(in room: RoomHandle, upTo seq: Int64, for user: UserID) -> [Int64] {
    let begin = begins[room]?[user] ?? 0
    return rooms[room]?.filter { $0.key > begin && $0.key <= seq && $0.value.traits.from != user }.keys.sorted() ?? []
  }

  /// Begins the membership of a user. The user is no recipient of the messages up to `seq`.
  mutating func joined(_ user: UserID, _ room: RoomHandle, after seq: Int64) {
    guard rooms[room]?.isEmpty == false else { return }
    begins[room, default: [:]][user] = seq
  }

  mutating func left(_ user: UserID, _ room: RoomHandle) { begins[room]?[user] = nil }

  /// Records a state about a recipient.
  /// - Returns: The sender to notify. Is `nil` if the message is not tracked, if the state has not changed, or if the
  ///   recipient has already received the message.
  mutating func record(
    _ state: DeliveryState, about recipient: UserID, of seq: Int64, in room: RoomHandle
  ) -> UserID? {
    guard var message = rooms[room]?[seq], message.sent[recipient] != state, message.sent[recipient] != .received
    else { return nil }
    // A push that replaces the one on the phone does not change the state back.
    if message.sent[recipient] == .onPhone, state == .pushed { return nil }
    message.sent[recipient] = state
    rooms[room]?[seq] = message
    return message.traits.from
  }

  mutating func forget(_ room: RoomHandle) {
    begins[room] = nil
    guard let messages = rooms.removeValue(forKey: room) else { return }
    for message in messages.values { plannedUsers -= message.plan?.users.count ?? 0 }
  }

  // MARK: Hidden recipients

  /// Plans the event about recipients who hide their presence. The message must be tracked.
  ///
  /// The delay is the same for all messages. After a restart, an older message waits until the events before it are
  /// sent.
  /// - Parameter users: The recipients; may be empty. If there are more than ``maxPlannedUsers``, nothing is planned.
  mutating func plan(_ seq: Int64, in room: RoomHandle, of users: Set<UserHandle>, at time: Timestamp) {
    guard rooms[room]?[seq] != nil, users.count <= Self.maxPlannedUsers else { return }
    cancelPlan(of: seq, in: room)
    while plannedUsers + users.count > Self.maxPlannedUsers || line.count >= Self.maxPlans {
      guard let oldest = line.removeFirst() else { break }
      if rooms[oldest.room]?[oldest.seq]?.plan?.time == oldest.time { cancelPlan(of: oldest.seq, in: oldest.room) }
    }
    let time = max(time, line.last?.time ?? time)
    rooms[room]?[seq]?.plan = Plan(users: users, time: time)
    plannedUsers += users.count
    if !users.isEmpty { line.append(Entry(room: room, seq: seq, time: time)) }
  }

  mutating func cancelPlan(of seq: Int64, in room: RoomHandle) {
    guard let plan = rooms[room]?[seq]?.plan else { return }
    plannedUsers -= plan.users.count
    rooms[room]?[seq]?.plan = nil
  }

  /// True if a planned event about the user is still due. False if the message has a plan that does not contain the
  /// user. Is `nil` if the message has no plan, or if its time is over.
  func isPlanned(_ user: UserHandle, of seq: Int64, in room: RoomHandle, at now: Timestamp) -> Bool? {
    guard let plan = rooms[room]?[seq]?.plan, now < plan.time else { return nil }
    return plan.users.contains(user)
  }

  /// Removes and returns the planned events that are due, in their order. Dropped events are not included.
  mutating func takePlanned(by now: Timestamp) -> [(room: RoomHandle, seq: Int64, users: Set<UserHandle>)] {
    var due: [(room: RoomHandle, seq: Int64, users: Set<UserHandle>)] = []
    while let entry = line.first, entry.time <= now {
      line.removeFirst()
      guard let plan = rooms[entry.room]?[entry.seq]?.plan, plan.time == entry.time else { continue }
      due.append((entry.room, entry.seq, plan.users))
      cancelPlan(of: entry.seq, in: entry.room)
    }
    return due
  }

  /// Shifts the planned events after the wall clock was set, so that their delays keep their length.
  mutating func movePlans(by step: Duration) {
    line = Line(
      line.elements.map { entry in
        var entry = entry
        entry.time = entry.time + step
        return entry
      })
    for (room, messages) in rooms {
      for (seq, message) in messages where message.plan != nil {
        rooms[room]?[seq]?.plan?.time = (message.plan?.time ?? Timestamp(rawValue: 0)) + step
      }
    }
  }
}
