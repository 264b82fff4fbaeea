// SPDX-License-Identifier: Apache-2.0
import RelayProtocol

/// The rows of rooms and users as the open transaction sees them, so that a message needs no query for its seq.
///
/// Belongs to the writer's thread.
final class WriterCache {
  struct Room {
    let id: Int64
    let epoch: String
    var seq: Int64
    var cursor: Int64
    /// The oldest message of the history. Is `seq` + 1 when the history is empty.
    var first: Int64
    /// The newest change of a message.
    var change: Int64 = 0
    /// The newest change of the messages that the store has deleted.
    var forgotten: Int64 = 0
    /// The number of members. Is `nil` until it is counted.
    var members: Int?
  }

  struct Person {
    let id: Int64
    var profile: User
    /// True if nobody has used the name: the row exists only because a ban names the user.
    var isOnlyNamed: Bool
  }

  /// A room with new messages in the open transaction, whose row must still be written.
  struct DeferredRoom {
    let name: RoomID
    var row: Room
    var retention: Retention
    /// The number of these messages.
    var added: Int64
    /// Increases with each message of the transaction: the place of the room's newest one.
    var order: Int
  }

  /// A member, by row ids.
  struct Mark: Hashable {
    let room: Int64
    let user: Int64
  }

  /// A table with this many entries is cleared before the next transaction. A miss costs a query of some microseconds.
  private static let maxEntries = 8_192
  /// The number of messages with a key after which expired keys are deleted.
  static let keysPerSweep = 64

  let updates = UpdateListener()
  private var rooms: [RoomID: Room] = [:]
  private var people: [UserID: Person] = [:]
  /// The entries that the running work has written. They are removed when the work is undone.
  private var touchedRooms: [RoomID] = []
  private var touchedPeople: [UserID] = []
  /// The number of keys stored since the last sweep.
  private(set) var keysSinceSweep = 0
  private(set) var newestKey = Timestamp(rawValue: 0)
  /// The newest position of the inbox, see ``Schema/inbox``. Is `nil` until it is read. It never falls: work that was
  /// undone leaves a gap.
  var newestPosition: Int64?
  /// The number of rows of the audit log that the additions of the open transaction have deleted.
  var trimmedAuditRows = 0
  /// The number of deferred messages.
  private var deferredCount = 0

  /// The rooms by row id.
  private(set) var deferredRooms: [Int64: DeferredRoom] = [:]
  /// Read marks that the open transaction must still write. A sender who is not a member has no row to update.
  private(set) var deferredMarks: [Mark: Int64] = [:]

  subscript(room: RoomID) -> Room? {
    get { rooms[room] }
    set {
      rooms[room] = newValue
      touchedRooms.append(room)
    }
  }

  subscript(user: UserID) -> Person? {
    get { people[user] }
    set {
      people[user] = newValue
      touchedPeople.append(user)
    }
  }

  var isKeySweepDue: Bool { keysSinceSweep >= Self.keysPerSweep }

  /// - Parameter time: The start of the key's lifetime, by the clock for keys.
  func countKey(at time: Timestamp) {
    keysSinceSweep += 1
    newestKey = time
  }

  func endKeySweep() { keysSinceSweep = 0 }

  /// Limits the number of entries. Nothing is deferred at this time.
  func beginTransaction() {
    trimmedAuditRows = 0
    beginWork()
    if rooms.count >= Self.maxEntries { rooms.removeAll() }
    if people.count >= Self.maxEntries { people.removeAll() }
  }

  /// Records a room with a new message. The updates of its row and of the sender's read mark are written later. A
  /// response to a notification leaves the mark, because the user may not have seen the room.
  func `defer`(_ room: Room, of draft: MessageDraft, sender: Int64) {
    rooms[draft.room] = room
    let added = deferredRooms[room.id]?.added ?? 0
    deferredCount += 1
    deferredRooms[room.id] = DeferredRoom(
      name: draft.room, row: room, retention: draft.retention, added: added + 1, order: deferredCount)
    if draft.response == nil { deferredMarks[Mark(room: room.id, user: sender)] = room.seq }
  }

  var hasDeferred: Bool { !deferredRooms.isEmpty }

  /// Clears the deferred rows after they were written.
  func forgetDeferred() {
    deferredRooms.removeAll(keepingCapacity: true)
    deferredMarks.removeAll(keepingCapacity: true)
    deferredCount = 0
  }

  func beginWork() {
    touchedRooms.removeAll(keepingCapacity: true)
    touchedPeople.removeAll(keepingCapacity: true)
  }

  /// Removes the entries that the running work has written or deferred, so that the rows are read again.
  func forgetWork() {
    for room in touchedRooms + deferredRooms.values.map(\.name) { rooms[room] = nil }
    forgetDeferred()
    for user in touchedPeople { people[user] = nil }
  }

  func removeAll() {
    rooms.removeAll()
    people.removeAll()
    newestPosition = nil
    forgetDeferred()
  }
}
