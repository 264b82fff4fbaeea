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
    /// The oldest message of the history; `seq` + 1 when there is none.
    var first: Int64
    /// How many; nil: not counted yet.
    var members: Int?
  }

  struct Person {
    let id: Int64
    var profile: User
  }

  /// A room with messages of the open transaction, whose row has still to be written.
  struct DeferredRoom {
    let name: RoomID
    var row: Room
    var retention: Retention
    /// The number of these messages.
    var added: Int64
  }

  /// A member, by row ids.
  struct Mark: Hashable {
    let room: Int64
    let user: Int64
  }

  /// Above this many entries a table starts anew with the next transaction. A miss costs a query of some microseconds.
  private static let maxEntries = 8_192
  /// Once in so many messages with a key, old keys are deleted.
  static let keysPerSweep = 64

  private var rooms: [RoomID: Room] = [:]
  private var people: [UserID: Person] = [:]
  /// What the running work has written, to be forgotten when it is undone.
  private var touchedRooms: [RoomID] = []
  private var touchedPeople: [UserID] = []
  /// The keys that were stored since old ones were deleted.
  private(set) var keysSinceSweep = 0
  private(set) var newestKey = Timestamp(rawValue: 0)

  /// By row id.
  private(set) var deferredRooms: [Int64: DeferredRoom] = [:]
  /// Read marks that the open transaction has still to write. The row of a sender who is no member does not exist.
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

  /// - Parameter time: The time from which on the key's lifetime counts.
  func countKey(at time: Timestamp) {
    keysSinceSweep += 1
    newestKey = time
  }

  func endKeySweep() { keysSinceSweep = 0 }

  /// Keeps the number of entries bounded. Nothing is deferred then.
  func beginTransaction() {
    if rooms.count >= Self.maxEntries { rooms.removeAll() }
    if people.count >= Self.maxEntries { people.removeAll() }
  }

  /// Takes a room with a new message whose update, and that of the sender's read mark, is still to be written.
  func `defer`(_ room: Room, of draft: MessageDraft, sender: Int64) {
    rooms[draft.room] = room
    let added = deferredRooms[room.id]?.added ?? 0
    deferredRooms[room.id] = DeferredRoom(
      name: draft.room, row: room, retention: draft.retention, added: added + 1)
    deferredMarks[Mark(room: room.id, user: sender)] = room.seq
  }

  var hasDeferred: Bool { !deferredRooms.isEmpty }

  /// The deferred rows are written.
  func forgetDeferred() {
    deferredRooms.removeAll(keepingCapacity: true)
    deferredMarks.removeAll(keepingCapacity: true)
  }

  func beginWork() {
    touchedRooms.removeAll(keepingCapacity: true)
    touchedPeople.removeAll(keepingCapacity: true)
  }

  /// Forgets what the running work has written: the rows tell again.
  func forgetWork() {
    for room in touchedRooms { rooms[room] = nil }
    for user in touchedPeople { people[user] = nil }
  }

  func removeAll() {
    rooms.removeAll()
    people.removeAll()
    forgetDeferred()
  }
}
