// SPDX-License-Identifier: Apache-2.0
import RelayJSON
import RelayProtocol

/// A message that waits to be sent, or for its reply.
struct Draft: Equatable {
  /// The caller that waits for the reply. Is `nil` after the caller was cancelled: the client does not send the message
  /// again, but still shows it in the room if the reply arrives.
  var ticket: Ticket?
  let key: String
  let fields: [String: JSON]
  /// The time of the first attempt to send.
  var began: Moment?

  /// The time after the first attempt in which the client may send a message again. The relay remembers a key for
  /// 5 minutes.
  static let trust = Duration.seconds(240)
}

/// A time by two clocks. The relay's `clock` counts, too: the app's clock may stand still while the computer sleeps.
struct Moment: Equatable {
  /// The client's time.
  let own: Duration
  /// The relay's `clock`, by the newest welcome. Is `nil` before a welcome has it.
  let relay: Duration?

  /// The time since another moment, by the clock that has measured more.
  func since(_ other: Moment) -> Duration {
    guard let relay, let start = other.relay else { return own - other.own }
    return max(own - other.own, relay - start)
  }
}

/// The waiting messages of one room, in their order. The client sends one at a time, so that no refusal reorders them.
struct Lane: Equatable {
  private(set) var drafts: [Draft] = []
  /// True while the first message is sent and has no reply.
  private(set) var isSent = false
  /// True if that is the first attempt to send it.
  private var isFirstAttempt = false
  private(set) var retryAt: Duration?
  private var backoff = Backoff()

  var isEmpty: Bool { drafts.isEmpty }

  mutating func add(_ draft: Draft) { drafts.append(draft) }

  enum Next: Equatable {
    case send(Draft)
    /// The relay may have stored the message, and may have forgotten its key.
    case giveUp(Draft)
  }

  /// Returns the next step for the first message. Returns `nil` if no step is due.
  mutating func next(at now: Moment) -> Next? {
    guard !isSent, let draft = drafts.first, retryAt.map({ $0 <= now.own }) ?? true else { return nil }
    retryAt = nil
    if let began = draft.began, now.since(began) >= Draft.trust {
      return .giveUp(drafts.removeFirst())
    }
    isSent = true
    isFirstAttempt = draft.began == nil
    drafts[0].began = draft.began ?? now
    return .send(draft)
  }

  /// Removes the first message after its final reply, a success or an error.
  mutating func answered() -> Draft {
    precondition(isSent, "an answered message was sent before")
    isSent = false
    backoff.succeeded()
    return drafts.removeFirst()
  }

  /// Schedules a retry of the first message after a temporary refusal.
  mutating func refused(at now: Duration, retryAfter: Duration, random: Double) {
    precondition(isSent, "a refused message was sent before")
    isSent = false
    // The relay has not stored the message. But it may have stored it at an earlier attempt without a reply.
    if isFirstAttempt { drafts[0].began = nil }
    retryAt = now + backoff.failed(random: random, retryAfter: retryAfter)
    forgetAbandoned()
  }

  /// Marks the first message as unsent after its reply was lost, and ends the delay of a retry. It will be sent again
  /// while the room is joined.
  mutating func lost() {
    isSent = false
    retryAt = nil
    forgetAbandoned()
  }

  /// Removes the message of a cancelled caller, or keeps it without a caller if it is sent. Returns true if found.
  mutating func cancelled(_ ticket: Ticket) -> Bool {
    guard let index = drafts.firstIndex(where: { $0.ticket == ticket }) else { return false }
    if index == 0, isSent { drafts[0].ticket = nil } else { drafts.remove(at: index) }
    return true
  }

  private mutating func forgetAbandoned() {
    if drafts.first?.ticket == nil, !drafts.isEmpty { drafts.removeFirst() }
  }
}

/// The waiting messages of all rooms, with one capacity for all together.
struct Outbox: Equatable {
  private(set) var lanes: [RoomID: Lane] = [:]
  let capacity: Int

  init(capacity: Int) { self.capacity = capacity }

  var isFull: Bool { lanes.values.reduce(0) { $0 + $1.drafts.count } >= capacity }

  /// Changes the lane of a room. Keeps only lanes that have messages.
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

  /// Removes the messages of a room, and returns the callers that waited for them.
  mutating func emptied(_ room: RoomID) -> [Ticket] {
    lanes.removeValue(forKey: room)?.drafts.compactMap(\.ticket) ?? []
  }

  /// Removes all messages, and returns the callers that waited for them.
  mutating func emptied() -> [Ticket] {
    defer { lanes = [:] }
    return lanes.values.flatMap { $0.drafts.compactMap(\.ticket) }.sorted()
  }

  var nextDue: Duration? { lanes.values.compactMap(\.retryAt).min() }
}
