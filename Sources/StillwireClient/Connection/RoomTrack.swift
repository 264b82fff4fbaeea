// SPDX-License-Identifier: Apache-2.0
import RelayJSON
import RelayProtocol

/// How far the app is in one room: what it sees has no gap that it is not told of, no double, and the order of the room.
struct RoomTrack: Equatable {
  enum Phase: Equatable {
    /// Not joined on this connection.
    case apart
    case joining
    case joined
    /// The join was refused for a while.
    case retrying(at: Duration)
  }

  let room: RoomID
  /// How many of the newest messages the app wants where there is nothing to go on from.
  let history: Int
  var phase = Phase.apart
  var backoff = Backoff()
  /// The newest message that the app has seen; nil before the first join.
  private(set) var position: Position?
  private(set) var people = People()
  var receipt = Receipt()
  /// What the person has read, as the app says.
  private(set) var read: Int64 = 0
  /// Messages that came before others that are missing.
  private var held: [Int64: Message] = [:]
  private var isAfterGap = false

  /// One send of ours at most is unanswered, so that many at most come before its answer.
  static let mostHeld = 300

  init(room: RoomID, history: Int) {
    self.room = room
    self.history = history
  }

  // MARK: Joining

  struct Joined: Equatable {
    var events: [Event]
    /// The read mark that the relay does not know.
    var read: Int64?
  }

  /// nil: the reply is none.
  mutating func joinAnswered(_ reply: JSON, me: UserID?) -> Joined? {
    guard let epoch = reply["epoch"]?.text, let seq = reply["seq"]?.integer else { return nil }
    phase = .joined
    backoff.succeeded()
    held = [:]
    let now = Position(epoch: epoch, seq: seq)
    let isRecovered = position == nil ? nil : reply["recovered"]?.flag ?? false
    var events: [Event] = [.joined(room, now, isRecovered: isRecovered)]
    let told = (reply["messages"]?.items ?? []).compactMap { Message($0, in: room) }
    if let before = position, isRecovered != true {
      events.append(.reset(room, now, before.epoch == epoch ? .gap : .epoch))
      isAfterGap = true
      receipt = Receipt()
      read = 0
    }
    if isRecovered != true {
      // What the app has seen of the same history it does not see again.
      let seen = position?.epoch == epoch && (position?.seq ?? 0) <= seq ? position?.seq ?? 0 : 0
      position = Position(epoch: epoch, seq: seen)
    }
    for message in told where message.seq > (position?.seq ?? 0) { events.append(.message(seen(message, me: me))) }
    if isRecovered == true { events += changes(in: reply) }
    // Complete up to here, also where nothing is told of it.
    position = now
    people = people.after(People.Change(reply))
    events.append(.peopleChanged(room, people))
    let known = reply["read"]?.integer ?? 0
    defer { read = max(read, known) }
    return Joined(events: events, read: read > known ? read : nil)
  }

  /// The `changes` of a reply as the events that they replace.
  private func changes(in reply: JSON) -> [Event] {
    (reply["changes"]?.items ?? []).compactMap { change in
      let frame = Frame(change)
      guard frame.type == "edited" || frame.type == "deleted", frame.room == room, let seq = frame.seq, hasSeen(seq)
      else { return nil }
      return .frame(frame)
    }
  }

  /// The connection is gone, and with it what had come too early: it will be recovered.
  mutating func connectionLost() {
    phase = .apart
    held = [:]
  }

  // MARK: Messages

  struct Arrival: Equatable {
    var shown: [Message] = []
    /// Something is missing that will not come by itself.
    var needsJoin = false
  }

  /// - Parameter isSending: Whether a send of ours is unanswered, which may be what is missing.
  mutating func arrived(_ message: Message, me: UserID?, isSending: Bool) -> Arrival {
    guard phase == .joined, let seq = position?.seq, message.seq > seq else { return Arrival() }
    held[message.seq] = message
    return released(me: me, isSending: isSending)
  }

  /// What can be shown of what is held.
  mutating func released(me: UserID?, isSending: Bool) -> Arrival {
    guard phase == .joined else { return Arrival() }
    var arrival = Arrival()
    while let seq = position?.seq, let message = held.removeValue(forKey: seq + 1) {
      arrival.shown.append(seen(message, me: me))
    }
    arrival.needsJoin = !held.isEmpty && (!isSending || held.count > Self.mostHeld)
    return arrival
  }

  private mutating func seen(_ message: Message, me: UserID?) -> Message {
    var message = message
    message.isOwn = message.from == me && me != nil
    message.isAfterGap = isAfterGap
    isAfterGap = false
    position?.seq = message.seq
    return message
  }

  /// Whether a change of a message is to be told: what the app has not seen it will see as it is then.
  func hasSeen(_ seq: Int64) -> Bool { seq <= position?.seq ?? 0 }

  // MARK: Marks and people

  /// Whether the mark is a new one.
  mutating func readTold(_ seq: Int64) -> Bool {
    guard seq > read else { return false }
    read = seq
    return true
  }

  /// The people after a change; nil: they are as they were.
  mutating func peopleChanged(_ change: People.Change) -> People? {
    let next = people.after(change)
    guard next != people else { return nil }
    people = next
    return next
  }
}
