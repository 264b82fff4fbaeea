// SPDX-License-Identifier: Apache-2.0
import RelayJSON
import RelayProtocol

/// A message that waits to be sent, or to be answered.
struct Draft: Equatable {
  /// nil: nobody waits any more. It is not sent again, but its answer still has a place in the room.
  var ticket: Ticket?
  let key: String
  let fields: [String: JSON]
  /// When it was first sent.
  var began: Duration?

  /// The relay remembers a key for 5 minutes; so long after a first attempt nobody asks again.
  static let trust = Duration.seconds(240)
}

/// The messages of one room that wait, in their order. One is sent at a time, so that no refusal reorders them.
struct Lane: Equatable {
  private(set) var drafts: [Draft] = []
  /// Whether the first one is sent and not answered.
  private(set) var isSent = false
  private(set) var retryAt: Duration?
  private var backoff = Backoff()

  var isEmpty: Bool { drafts.isEmpty }

  mutating func add(_ draft: Draft) { drafts.append(draft) }

  enum Next: Equatable {
    case send(Draft)
    /// It may have been sent long ago.
    case giveUp(Draft)
  }

  /// What to do with the first one now; nil: nothing yet.
  mutating func next(at now: Duration) -> Next? {
    guard !isSent, let draft = drafts.first, retryAt.map({ $0 <= now }) ?? true else { return nil }
    retryAt = nil
    if let began = draft.began, now - began >= Draft.trust {
      return .giveUp(drafts.removeFirst())
    }
    isSent = true
    drafts[0].began = draft.began ?? now
    return .send(draft)
  }

  /// The first one is done, well or not.
  mutating func answered() -> Draft {
    precondition(isSent, "what is answered was sent")
    isSent = false
    backoff.succeeded()
    return drafts.removeFirst()
  }

  /// The first one is refused for a while.
  mutating func refused(at now: Duration, retryAfter: Duration, random: Double) {
    precondition(isSent, "what is refused was sent")
    isSent = false
    // It took no effect, so that there is nothing to be uncertain about.
    drafts[0].began = nil
    retryAt = now + backoff.failed(random: random, retryAfter: retryAfter)
    forgetAbandoned()
  }

  /// No answer comes any more to what was sent; it will be sent again.
  mutating func lost() {
    isSent = false
    forgetAbandoned()
  }

  /// Nobody waits for it any more: it is taken off unless it is sent already.
  mutating func cancelled(_ ticket: Ticket) -> Bool {
    guard let index = drafts.firstIndex(where: { $0.ticket == ticket }) else { return false }
    if index == 0, isSent { drafts[0].ticket = nil } else { drafts.remove(at: index) }
    return true
  }

  private mutating func forgetAbandoned() {
    if drafts.first?.ticket == nil, !drafts.isEmpty { drafts.removeFirst() }
  }
}

/// All that waits to be sent, bounded over all rooms.
struct Outbox: Equatable {
  private(set) var lanes: [RoomID: Lane] = [:]
  let most: Int

  init(most: Int) { self.most = most }

  var isFull: Bool { lanes.values.reduce(0) { $0 + $1.drafts.count } >= most }

  /// A lane is there as long as something is in it.
  mutating func withLane<Value>(_ room: RoomID, _ change: (inout Lane) -> Value) -> Value {
    var lane = lanes.removeValue(forKey: room) ?? Lane()
    defer { if !lane.isEmpty { lanes[room] = lane } }
    return change(&lane)
  }

  mutating func cancelled(_ ticket: Ticket) {
    for room in lanes.keys where withLane(room, { $0.cancelled(ticket) }) { return }
  }

  mutating func connectionLost() {
    for room in Array(lanes.keys) { withLane(room) { $0.lost() } }
  }

  /// Who waits for anything of a room, which is over.
  mutating func emptied(_ room: RoomID) -> [Ticket] {
    lanes.removeValue(forKey: room)?.drafts.compactMap(\.ticket) ?? []
  }

  /// Who waits for anything, all of which is over.
  mutating func emptied() -> [Ticket] {
    defer { lanes = [:] }
    return lanes.values.flatMap { $0.drafts.compactMap(\.ticket) }.sorted()
  }

  var nextDue: Duration? { lanes.values.compactMap(\.retryAt).min() }
}
