// SPDX-License-Identifier: Apache-2.0
import RelayProtocol

/// What the world must look like, from what was acknowledged and shown. It knows nothing of how the relay works.
struct Model {
  /// A number that only rises, and when it did.
  struct Rise {
    private var steps: [(time: Timestamp, seq: Int64)]

    init(_ seq: Int64, now: Timestamp) { steps = [(now, seq)] }

    var latest: Int64 { steps.last?.seq ?? 0 }

    func at(_ time: Timestamp) -> Int64 { steps.last { $0.time <= time }?.seq ?? 0 }

    mutating func raise(to seq: Int64, now: Timestamp) {
      if seq > latest { steps.append((now, seq)) }
    }
  }

  struct Member {
    var read: Rise
    /// Up to which seq nothing has to be pushed any more.
    var mark: Rise

    init(read: Int64, received: Int64 = 0, now: Timestamp) {
      self.read = Rise(read, now: now)
      mark = Rise(max(read, received), now: now)
    }
  }

  /// A message that is to be pushed to a device, unless something else becomes of it.
  struct Debt: Hashable {
    let place: Place
    let target: Target
  }

  struct Key: Hashable, Sendable {
    let room: RoomID
    let user: UserID
    let key: Int
  }

  struct First: Sendable {
    let seq: Int64
    let time: Timestamp
  }

  var logs: [RoomID: RoomLog] = [:]
  var members: [Membership: Member] = [:]
  /// The token of each device.
  var devices: [Target: String] = [:]
  var keys: [Key: First] = [:]
  var attendance: Attendance
  private(set) var debts: Set<Debt> = []

  /// Marks are told to the store a second after the first change; whatever is older is there.
  static let lateness = Duration.milliseconds(1_001)
  static let keyLifetime = Duration.seconds(300)
  static let pushLifetime = Duration.seconds(28 * 24 * 3600)

  init(start: Timestamp) { attendance = Attendance(start: start) }

  // MARK: What is shown

  mutating func see(_ message: RoomLog.Message, at place: Place) throws {
    try logs[place.room, default: RoomLog()].see(message, at: place)
  }

  mutating func see(epoch: String, of room: RoomID) throws {
    try logs[room, default: RoomLog()].see(epoch: epoch, of: room)
  }

  // MARK: What is acknowledged

  /// A message is stored. Who is owed a push was there, with a device, before and after.
  mutating func acknowledge(_ message: RoomLog.Message, at place: Place, before: Model, now: Timestamp) throws {
    try see(message, at: place)
    for (target, _) in devices where target.user != message.from && before.devices[target] != nil {
      let membership = Membership(room: place.room, user: target.user)
      guard let member = members[membership], before.members[membership] != nil, member.mark.latest < place.seq,
        !attendance.isActivelyReceived(place, by: target.user)
      else { continue }
      debts.insert(Debt(place: place, target: target))
    }
    read(Membership(room: place.room, user: message.from), upTo: place.seq, now: now)
  }

  mutating func read(_ membership: Membership, upTo seq: Int64, now: Timestamp) {
    members[membership]?.read.raise(to: seq, now: now)
    reach(membership, upTo: seq, now: now)
  }

  /// A session has received messages up to this seq.
  mutating func received(_ slot: Slot, _ room: RoomID, upTo seq: Int64, now: Timestamp) {
    attendance.received(slot, room, upTo: seq)
    attend(slot, room, now: now)
  }

  /// A session is active from now on, or not.
  mutating func setActivity(_ activity: Activity, of slot: Slot, now: Timestamp) {
    attendance.setActivity(activity, of: slot)
    for room in World.rooms { attend(slot, room, now: now) }
  }

  /// What an active session has received is out of the world.
  private mutating func attend(_ slot: Slot, _ room: RoomID, now: Timestamp) {
    guard let session = attendance.sessions[slot], session.activity == .active, let seat = session.seats[room] else {
      return
    }
    let membership = Membership(room: room, user: slot.user)
    let mark = members[membership]?.mark.latest ?? 0
    if session.acks || seat.givenFrom <= mark + 1 {
      reach(membership, upTo: seat.received, now: now)
    } else {
      // One mark cannot say that there is a gap, so a restart may push this.
      clear { $0.place.room == room && $0.target.user == slot.user && session.hasReceived($0.place) }
    }
  }

  private mutating func reach(_ membership: Membership, upTo seq: Int64, now: Timestamp) {
    guard let mark = members[membership]?.mark.latest, seq > mark else { return }
    members[membership]?.mark.raise(to: seq, now: now)
    // What other sessions have received behind it may count now.
    for slot in World.slots where slot.user == membership.user { attend(slot, membership.room, now: now) }
    clear { $0.place.room == membership.room && $0.target.user == membership.user && $0.place.seq <= seq }
  }

  mutating func leave(_ membership: Membership) {
    members[membership] = nil
    clear { $0.place.room == membership.room && $0.target.user == membership.user }
  }

  mutating func register(_ target: Target, token: String) {
    for (other, _) in devices where other != target && devices[other] == token { forget(other) }
    devices[target] = token
  }

  mutating func forget(_ target: Target) {
    devices[target] = nil
    clear { $0.target == target }
  }

  mutating func pushed(_ debt: Debt) { debts.remove(debt) }

  mutating func expire(now: Timestamp) {
    let logs = logs
    clear { debt in (logs[debt.place.room]?[debt.place.seq]).map { $0.time + Self.pushLifetime <= now } ?? true }
  }

  private mutating func clear(_ isSettled: (Debt) -> Bool) { debts = debts.filter { !isSettled($0) } }

  // MARK: What follows

  func log(of room: RoomID) -> RoomLog { logs[room] ?? RoomLog() }

  func message(at place: Place) -> RoomLog.Message? { logs[place.room]?[place.seq] }
}
