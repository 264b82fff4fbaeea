// SPDX-License-Identifier: Apache-2.0
import RelayJSON
import RelayProtocol

/// The progress of the app in one room. The app receives each message once, in the order of the room, and an event for
/// each gap.
struct RoomTrack: Equatable {
  enum Phase: Equatable {
    /// The room is not joined on this connection.
    case apart
    /// The room waits until few joins have no reply.
    case queued
    case joining
    case joined
    /// The relay refused the join temporarily.
    case retrying(at: Duration)
  }

  let room: RoomID
  /// Number of newest messages that the first join requests.
  let history: Int
  var phase = Phase.apart
  /// A number that increases with each use of any room by the app.
  var lastUse = 0
  var backoff = Backoff()
  /// The newest message that the app has received. Is `nil` before the first join.
  private(set) var position: Position?
  /// The changes of messages that the app has.
  private(set) var changes = ChangeTrack()
  private(set) var people = People()
  var receipt = Receipt()
  /// The newest message that the person has read, from the app.
  private(set) var read: Int64 = 0
  /// Messages that arrived early: a message before them is missing.
  private var held: [Int64: Message] = [:]
  private var isAfterGap = false
  /// The first page, while the pages of a join are incomplete.
  private var firstPage: FirstPage?
  /// The present join.
  private var join = Join()

  private struct FirstPage: Equatable {
    /// Is `nil` at the first join.
    let isRecovered: Bool?
  }

  private struct Join: Equatable {
    var began = Duration.zero
    /// True if pages have come before the reply.
    var hasPage = false
  }

  /// Maximum number of held messages. Only one send is pending, so few messages can arrive before its reply.
  static let maxHeld = 300

  init(room: RoomID, history: Int) {
    self.room = room
    self.history = history
  }

  // MARK: Joining

  /// True after the first join, also while the client joins again.
  var hasJoined: Bool { position != nil && firstPage == nil }

  mutating func joinSent(at now: Duration) {
    phase = .joining
    join = Join(began: now)
  }

  /// Returns the time since the present join.
  func joinTime(at now: Duration) -> Duration { now - join.began }

  /// Shows the messages of a page, which is an event before the reply to a join. Returns `nil` if the room waits for no
  /// page, or if it has no position.
  mutating func pageArrived(_ page: JSON, me: UserID?) -> [Event]? {
    guard phase == .joining, let now = Position(page) else { return nil }
    defer { join.hasPage = true }
    return take(page, upTo: now, me: me).events
  }

  /// Applies the messages and changes of a reply, which may be a part. Returns `nil` if the reply has no position.
  mutating func partAnswered(_ reply: JSON, me: UserID?) -> [Event]? {
    guard let now = Position(reply) else { return nil }
    backoff.succeeded()
    let (isRecovered, events) = take(reply, upTo: now, me: me)
    let missed = isRecovered == true ? missedChanges(in: reply) : []
    changes = ChangeTrack(joined: reply)
    return events + missed
  }

  /// Takes the messages of a reply to a join, or of a page of it.
  private mutating func take(
    _ page: JSON, upTo now: Position, me: UserID?
  ) -> (isRecovered: Bool?, events: [Event]) {
    // The relay states the `recovered` of all pages before a reply together. They continue each other.
    let isRecovered = join.hasPage ? true : position == nil ? nil : page["recovered"]?.flag ?? false
    if firstPage == nil { firstPage = FirstPage(isRecovered: isRecovered) }
    held = [:]
    var events: [Event] = []
    if let before = position, isRecovered != true {
      events.append(.reset(room, now, before.epoch == now.epoch ? .gap : .epoch))
      isAfterGap = true
      receipt = Receipt()
      read = 0
    }
    if isRecovered != true {
      // The app does not receive messages of the same epoch again.
      let seen = position?.epoch == now.epoch && (position?.seq ?? 0) <= now.seq ? position?.seq ?? 0 : 0
      position = Position(epoch: now.epoch, seq: seen)
    }
    let list = (page["messages"]?.items ?? []).compactMap { Message($0, in: room) }
    for message in list where message.seq > (position?.seq ?? 0) { events.append(.message(seen(message, me: me))) }
    // The app is complete up to here, also if the page has no messages.
    position = now
    return (isRecovered, events)
  }

  struct Joined: Equatable {
    var events: [Event]
    /// A read mark that the relay has missed, to be sent again.
    var read: Int64?
  }

  /// Applies the reply to a join. Returns `nil` if the reply has no position.
  mutating func joinAnswered(_ reply: JSON, me: UserID?) -> Joined? {
    guard let shown = partAnswered(reply, me: me), let now = position else { return nil }
    phase = .joined
    var events = [.joined(room, now, isRecovered: firstPage?.isRecovered ?? nil)] + shown
    firstPage = nil
    people = people.after(People.Change(reply))
    events.append(.peopleChanged(room, people))
    events += receipts(in: reply)
    let known = reply["read"]?.integer ?? 0
    defer { read = max(read, known) }
    return Joined(events: events, read: read > known ? read : nil)
  }

  /// The `changes` of a reply, converted to the events of changes that the client missed.
  private func missedChanges(in reply: JSON) -> [Event] {
    (reply["changes"]?.items ?? []).compactMap { change in
      let frame = Frame(change)
      guard frame.isChange, frame.room == room, let seq = frame.seq, hasSeen(seq),
        !changes.has(frame["change"]?.integer)
      else { return nil }
      return .frame(frame)
    }
  }

  /// The `marks` of a reply, converted to the `receipt` events that lead to them.
  private func receipts(in reply: JSON) -> [Event] {
    (reply["marks"]?.items ?? []).flatMap { mark -> [Event] in
      guard let user: UserID = mark.name("user") else { return [] }
      let read = mark["read"]?.integer ?? 0
      let received = mark["received"]?.integer ?? 0
      return [("read", read, 0), ("received", received, read)].compactMap { kind, seq, before in
        guard seq > before else { return nil }
        return .frame(
          Frame([
            "type": "receipt", "room": .string(room.rawValue), "user": .string(user.rawValue),
            "seq": .number(String(seq)), "kind": .string(kind),
          ]))
      }
    }
  }

  /// Forgets the held messages after a lost connection. The next join recovers them.
  mutating func connectionLost() {
    phase = .apart
    held = [:]
  }

  // MARK: Messages

  struct Arrival: Equatable {
    var shown: [Message] = []
    /// A message is missing that only a new join can recover.
    var needsJoin = false
  }

  /// Takes a message of the room.
  /// - Parameter isSending: True if a send is pending, because its message may be the missing one.
  mutating func arrived(_ message: Message, me: UserID?, isSending: Bool) -> Arrival {
    guard phase == .joined, let seq = position?.seq, message.seq > seq else { return Arrival() }
    held[message.seq] = message
    return released(me: me, isSending: isSending)
  }

  /// Releases the held messages that now have no gap before them.
  mutating func released(me: UserID?, isSending: Bool) -> Arrival {
    guard phase == .joined else { return Arrival() }
    var arrival = Arrival()
    while let seq = position?.seq, let message = held.removeValue(forKey: seq + 1) {
      arrival.shown.append(seen(message, me: me))
    }
    arrival.needsJoin = !held.isEmpty && (!isSending || held.count > Self.maxHeld)
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

  // MARK: Changes

  /// Returns true if the app has received the message, so that it needs its changes. The app receives a later message
  /// in its changed state.
  func hasSeen(_ seq: Int64) -> Bool { seq <= position?.seq ?? 0 }

  /// Returns true if the app has not received the message yet, and would receive it in the state before its changes.
  func holds(_ seq: Int64) -> Bool { held[seq] != nil }

  /// Stores a change that the app gets now. Returns true if it is new. Held replies to the message then arrive with its
  /// new state.
  mutating func changeArrived(_ event: Frame) -> Bool {
    guard changes.arrived(event["change"]?.integer) else { return false }
    changeQuotes(event)
    return true
  }

  /// Stores a change that this client has requested. Held messages that quote the message arrive with its new state.
  /// - Parameter event: The edit or the deletion. Is `nil` for other changes.
  /// - Returns: True if the client must join again to get the newest state of held messages. The changed message itself
  ///   is held, or a later change has arrived before the relay's answer.
  mutating func changeAnswered(_ number: Int64, _ event: Frame?) -> Bool {
    let isLate = changes.hasLater(than: number)
    guard changes.arrived(number), let event, let seq = event.seq else { return false }
    let isQuoted = held.values.contains { $0.quote?.seq == seq }
    guard holds(seq) || isQuoted && isLate else {
      changeQuotes(event)
      return false
    }
    return phase == .joined
  }

  private mutating func changeQuotes(_ event: Frame) {
    for seq in held.keys { held[seq]?.quote?.apply(event) }
  }

  // MARK: Marks and people

  /// Stores the read mark. Returns true if it has advanced.
  mutating func markRead(_ seq: Int64) -> Bool {
    guard seq > read else { return false }
    read = seq
    return true
  }

  /// Applies a change. Returns the people, or `nil` if nothing changed.
  mutating func peopleChanged(_ change: People.Change) -> People? {
    let next = people.after(change)
    guard next != people else { return nil }
    people = next
    return next
  }
}

extension Position {
  /// The position of a membership, of a reply to a join, or of a page of it.
  init?(_ json: JSON) {
    guard let epoch = json["epoch"]?.text, let seq = json["seq"]?.integer else { return nil }
    self.init(epoch: epoch, seq: seq)
  }
}
