// SPDX-License-Identifier: Apache-2.0
import RelayProtocol

/// The sessions of users, and their ends: all facts of the waits of the delivery decision. This second
/// implementation follows the specification.
struct Attendance {
  /// A session in a room.
  struct Seat {
    var joined: Timestamp
    /// The first message that the relay gave the session.
    var givenFrom: Int64
    var received: Int64 = 0
  }

  struct Session {
    let acks: Bool
    var activity: Activity
    var seats: [RoomID: Seat] = [:]

    func hasReceived(_ place: Place) -> Bool {
      guard let seat = seats[place.room] else { return false }
      return seat.received >= place.seq && (acks || seat.givenFrom <= place.seq)
    }
  }

  struct Leave {
    let time: Timestamp
    let isClean: Bool
    /// True if another session ended at the same time in the other way.
    var isDoubtful = false
  }

  /// The start of the relay. It counts as an unclean end of the sessions of ``present``.
  var start: Timestamp
  /// The users who were online and not in the background before the start.
  let present: Set<UserID>
  /// The users who were online before the start, and have not ended a session since.
  var awaited: Set<UserID> = []
  /// The end of the time for which the users are awaited.
  var endOfReturns: Timestamp { start + Self.grace + Self.reconnect }
  /// The time at which the process last resumed after a suspension.
  var pause: Timestamp?
  private(set) var sessions: [Slot: Session] = [:]
  private var leaves: [Membership: Leave] = [:]
  /// The last time at which a session ended without a grace.
  private var graceless: [Membership: Timestamp] = [:]

  static let receiptWait = Duration.seconds(5)
  static let idleWait = Duration.seconds(30)
  static let grace = Duration.seconds(10)
  static let maxWait = Duration.seconds(45)
  static let reconnect = Duration.seconds(20)

  init(start: Timestamp, present: Set<UserID> = []) {
    self.start = start
    self.present = present
  }

  // MARK: Events

  mutating func open(_ slot: Slot, acks: Bool, activity: Activity) {
    sessions[slot] = Session(acks: acks, activity: activity)
  }

  mutating func close(_ slot: Slot, isClean: Bool, now: Timestamp) {
    for room in World.rooms { leave(slot, room, isClean: isClean, now: now) }
    sessions[slot] = nil
    awaited.remove(slot.user)
  }

  /// - Parameter mark: The message up to which the member has received all messages.
  mutating func join(_ slot: Slot, _ room: RoomID, givenFrom seq: Int64, mark: Int64, now: Timestamp) {
    guard let session = sessions[slot], let before = session.seats[room] else {
      sessions[slot]?.seats[room] = Seat(joined: now, givenFrom: seq)
      return
    }
    // The relay also gave the session the messages between an earlier join and this one. Earlier pongs did not confirm
    // the others.
    let hasGap = !session.acks && seq < before.givenFrom && mark + 1 < before.givenFrom
    sessions[slot]?.seats[room] = Seat(
      joined: now, givenFrom: min(seq, before.givenFrom),
      received: hasGap ? min(before.received, seq - 1) : before.received)
  }

  mutating func leave(_ slot: Slot, _ room: RoomID, isClean: Bool, now: Timestamp) {
    guard let session = sessions[slot], session.seats[room] != nil else { return }
    sessions[slot]?.seats[room] = nil
    // A session in the background does not affect the grace.
    guard session.activity != .background else { return }
    goAway(Membership(room: room, user: slot.user), isClean: isClean, now: now)
  }

  /// A user becomes a member and was not one before.
  mutating func begin(_ membership: Membership, now: Timestamp) {
    leaves[membership] = Leave(time: now, isClean: true)
  }

  /// A user creates a room. The relay loads the room later, with its members.
  mutating func create(_ membership: Membership) { leaves[membership] = nil }

  /// A session that was not in the background has ended, or was moved to the background.
  private mutating func goAway(_ membership: Membership, isClean: Bool, now: Timestamp) {
    if isClean { graceless[membership] = now }
    guard !isAttended(membership) else { return }
    // If several sessions end at the same time, any of them may be the last.
    let isDoubtful = leaves[membership]?.time == now || graceless[membership] == now && !isClean
    leaves[membership] = Leave(time: now, isClean: isClean || graceless[membership] == now, isDoubtful: isDoubtful)
  }

  mutating func setActivity(_ activity: Activity, of slot: Slot, now: Timestamp) {
    guard let session = sessions[slot] else { return }
    sessions[slot]?.activity = activity
    guard session.activity != .background, activity == .background else { return }
    for room in session.seats.keys { goAway(Membership(room: room, user: slot.user), isClean: true, now: now) }
  }

  mutating func received(_ slot: Slot, _ room: RoomID, upTo seq: Int64) {
    guard let seat = sessions[slot]?.seats[room] else { return }
    sessions[slot]?.seats[room]?.received = max(seat.received, seq)
  }

  // MARK: Derived facts

  /// True if others who may see it must be shown the user as online, because the user was online before the start.
  func isAwaited(_ user: UserID, at now: Timestamp) -> Bool { awaited.contains(user) && now < endOfReturns }

  func hasSession(_ user: UserID) -> Bool { sessions.keys.contains { $0.user == user } }

  func seats(of membership: Membership) -> [Session] {
    World.slots.compactMap { slot in
      guard slot.user == membership.user else { return nil }
      return sessions[slot].flatMap { $0.seats[membership.room] == nil ? nil : $0 }
    }
  }

  /// True if the user has a session in the room that is not in the background.
  func isAttended(_ membership: Membership) -> Bool {
    seats(of: membership).contains { $0.activity != .background }
  }

  private func leave(of membership: Membership) -> Leave {
    leaves[membership] ?? Leave(time: start, isClean: !present.contains(membership.user))
  }

  func isActivelyReceived(_ place: Place, by user: UserID) -> Bool {
    seats(of: Membership(room: place.room, user: user)).contains { $0.activity == .active && $0.hasReceived(place) }
  }

  /// The end of the waits that match now. Is `nil` when none matches.
  /// - Parameter released: The end of the push's hold. Is `nil` when the push was not held. The maximum of all waits
  ///   counts from it.
  func endOfWait(
    for place: Place, of time: Timestamp, to user: UserID, released: Timestamp? = nil
  ) -> Timestamp? {
    let membership = Membership(room: place.room, user: user)
    let seats = seats(of: membership)
    var ends = seats.compactMap { session -> Timestamp? in
      guard session.activity != .background, !session.hasReceived(place), let seat = session.seats[place.room] else {
        return nil
      }
      return max(time, seat.joined) + Self.receiptWait
    }
    if seats.contains(where: { $0.activity == .idle && $0.hasReceived(place) }) { ends.append(time + Self.idleWait) }
    if !isAttended(membership) {
      let leave = leave(of: membership)
      if !leave.isClean { ends.append(leave.time + Self.grace) }
    }
    return ends.max().map { min($0, max(time, released ?? time) + Self.maxWait) }
  }

  /// Returns whether the user is away for less than the grace without a clean close. Both values are possible if
  /// sessions ended at the same time.
  func isInGrace(_ membership: Membership, at now: Timestamp) -> Set<Bool> {
    let leave = leave(of: membership)
    guard !isAttended(membership), now < leave.time + Self.grace else { return [false] }
    return leave.isDoubtful ? [true, false] : [!leave.isClean]
  }

  /// The latest time at which a message must be decided.
  func deadline(of time: Timestamp) -> Timestamp {
    max(time + Self.maxWait, start + Self.grace, pause ?? start)
  }
}
