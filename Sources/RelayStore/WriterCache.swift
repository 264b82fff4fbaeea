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

  /// Above this many entries a table starts anew. A miss costs a query of some microseconds.
  private static let mostEntries = 8_192
  /// Once in so many messages with a key, old keys are deleted.
  static let keysPerSweep = 64

  private var rooms: [RoomID: Room] = [:]
  private var people: [UserID: Person] = [:]
  /// What the running work has written, to be forgotten when it is undone.
  private var touchedRooms: [RoomID] = []
  private var touchedPeople: [UserID] = []
  private var keysUntilSweep = WriterCache.keysPerSweep

  subscript(room: RoomID) -> Room? {
    get { rooms[room] }
    set {
      if rooms.count >= Self.mostEntries { rooms.removeAll() }
      rooms[room] = newValue
      touchedRooms.append(room)
    }
  }

  subscript(user: UserID) -> Person? {
    get { people[user] }
    set {
      if people.count >= Self.mostEntries { people.removeAll() }
      people[user] = newValue
      touchedPeople.append(user)
    }
  }

  /// Whether old idempotency keys are to be deleted now.
  func isKeySweepDue() -> Bool {
    keysUntilSweep -= 1
    guard keysUntilSweep == 0 else { return false }
    keysUntilSweep = Self.keysPerSweep
    return true
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
  }
}
