// SPDX-License-Identifier: Apache-2.0
import RelayProtocol

/// The expected changes of the messages of a room: edits, deletions, reactions and pins. This second implementation
/// follows the protocol.
struct ChangeModel: Equatable, Sendable {
  /// The parts of a message that change independently. A client that returns gets the newest change of each.
  enum Kind: Hashable, Sendable {
    case body, reactions, pin
  }

  /// The state after a change.
  enum Value: Hashable, Sendable {
    case edited(body: Int)
    /// - Parameter by: The user who deleted the message of another user.
    case deleted(by: UserID?)
    case reactions([ReactionGroup])
    case pinned(Bool)

    var kind: Kind {
      switch self {
      case .edited, .deleted: .body
      case .reactions: .reactions
      case .pinned: .pin
      }
    }
  }

  struct Change: Hashable, Sendable {
    /// The changes of a room have the numbers 1, 2, 3 …
    let number: Int64
    let seq: Int64
    let time: Timestamp
    let value: Value
  }

  struct Reaction: Hashable, Sendable {
    let key: String
    let user: UserID
  }

  /// All reactions with the same key, as clients get them.
  struct ReactionGroup: Hashable, Sendable {
    let key: String
    let count: Int
    let users: [UserID]

    static let maxUsers = 5
  }

  /// The members that a message has in a reply after it was changed.
  struct Marks: Hashable, Sendable {
    var edited: Timestamp?
    var reactions: [ReactionGroup] = []
    var pinned: Timestamp?
  }

  /// The number of the newest change.
  private(set) var newest: Int64 = 0
  /// The newest change of each kind, by the seq of the message.
  private var changes: [Int64: [Kind: Change]] = [:]
  /// The present reactions in the order in which they were added, by the seq of the message.
  private var reactions: [Int64: [Reaction]] = [:]

  init() {}

  /// - Parameters:
  ///   - changes: The newest change of each kind of each message.
  ///   - reactions: The present reactions in the order in which they were added.
  init(newest: Int64, _ changes: [Change], reactions: [(seq: Int64, reaction: Reaction)]) {
    self.newest = newest
    for change in changes { self.changes[change.seq, default: [:]][change.value.kind] = change }
    for (seq, reaction) in reactions { self.reactions[seq, default: []].append(reaction) }
  }

  // MARK: Derived facts

  func has(_ change: Change) -> Bool { changes[change.seq]?[change.value.kind] == change }

  /// The changes that a client has missed, in the order of their numbers.
  /// - Parameters:
  ///   - number: The client has all changes up to this one.
  ///   - seq: The newest message that the client has.
  func missed(after number: Int64, upTo seq: Int64) -> [Change] {
    changes.flatMap { $0 <= seq ? $1.values.filter { $0.number > number } : [] }.sorted { $0.number < $1.number }
  }

  func marks(of seq: Int64) -> Marks {
    var marks = Marks(reactions: groups(of: seq))
    guard let known = changes[seq] else { return marks }
    if let change = known[.body], case .edited = change.value { marks.edited = change.time }
    if let change = known[.pin], change.value == .pinned(true) { marks.pinned = change.time }
    return marks
  }

  private func isDeleted(_ seq: Int64) -> Bool {
    if case .deleted = changes[seq]?[.body]?.value { true } else { false }
  }

  private func groups(of seq: Int64) -> [ReactionGroup] {
    var keys: [String] = []
    let reactions = reactions[seq] ?? []
    for reaction in reactions where !keys.contains(reaction.key) { keys.append(reaction.key) }
    return keys.map { key in
      let users = reactions.filter { $0.key == key }.map(\.user)
      return ReactionGroup(key: key, count: users.count, users: Array(users.prefix(ReactionGroup.maxUsers)))
    }
  }

  // MARK: Events

  /// The states after a request. There is none if the reply is wrong now.
  func after(_ event: ChangeEvent) -> [ChangeModel] {
    let refused = event.rights.contains(false) && event.reply.fits(.refused("forbidden")) ? [self] : []
    guard event.rights.contains(true) else { return refused }
    var next = self
    let reply = next.perform(event)
    return refused + (event.reply.fits(reply) ? [next] : [])
  }

  /// Performs a request that the user may make. Returns the expected reply.
  private mutating func perform(_ event: ChangeEvent) -> ChangeReply {
    let seq = event.seq
    switch event.request {
    case .delete(let by):
      guard !isDeleted(seq) else { return .done(change: nil, nil) }
      // The deletion deletes the reactions and the pin without changes of their own.
      changes[seq] = nil
      reactions[seq] = nil
      return .done(change: count(.deleted(by: by), event), nil)
    case _ where isDeleted(seq): return .refused("not_found")
    case .edit(let body): return .done(change: count(.edited(body: body), event), nil)
    case .react(let reaction):
      let isNew = reactions[seq]?.contains(reaction) != true
      if isNew { reactions[seq, default: []].append(reaction) }
      return reply(isNew, .reactions(groups(of: seq)), event)
    case .unreact(let reaction):
      let index = reactions[seq]?.firstIndex(of: reaction)
      if let index { reactions[seq]?.remove(at: index) }
      if reactions[seq]?.isEmpty == true { reactions[seq] = nil }
      return reply(index != nil, .reactions(groups(of: seq)), event)
    case .pin(let isPinned):
      return reply((marks(of: seq).pinned != nil) != isPinned, .pinned(isPinned), event)
    }
  }

  private mutating func reply(_ isChanged: Bool, _ value: Value, _ event: ChangeEvent) -> ChangeReply {
    .done(change: isChanged ? count(value, event) : nil, value)
  }

  /// Gives a change the next number.
  private mutating func count(_ value: Value, _ event: ChangeEvent) -> Int64 {
    newest += 1
    changes[event.seq, default: [:]][value.kind] = Change(
      number: newest, seq: event.seq, time: event.time, value: value)
    return newest
  }
}
