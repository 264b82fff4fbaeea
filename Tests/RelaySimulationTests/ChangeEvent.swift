// SPDX-License-Identifier: Apache-2.0
import RelayProtocol

/// A request that may change a message.
struct ChangeEvent: Sendable {
  enum Request: Sendable {
    case edit(body: Int)
    /// - Parameter by: The user who deletes the message of another user.
    case delete(by: UserID?)
    case react(ChangeModel.Reaction)
    case unreact(ChangeModel.Reaction)
    /// Ends the pin with false.
    case pin(Bool)
  }

  let seq: Int64
  let request: Request
  /// Contains true if the user may make the request, and false if the relay may refuse it. Both are possible if another
  /// request of the step gives the user a role.
  let rights: Set<Bool>
  let time: Timestamp
  let reply: ChangeReply
}

/// The reply to a request that may change a message.
enum ChangeReply: Equatable, Sendable {
  /// No reply arrived before a crash, so the result is unknown.
  case unknown
  case refused(String)
  /// - Parameter change: Is `nil` if nothing was changed.
  case done(change: Int64?, ChangeModel.Value?)

  /// True if the reply may be this one.
  func fits(_ expected: ChangeReply) -> Bool { self == .unknown || self == expected }
}

extension ChangeModel {
  /// The sequences of states in all orders of these events in which the replies are right. Each begins with the present
  /// state. The relay decides the order of requests at the same time.
  /// - Parameter perhaps: Events that may have happened or not.
  func orders(of events: [ChangeEvent], perhaps: [ChangeEvent] = []) -> [[ChangeModel]] {
    var found: [[ChangeModel]] = []
    collect(events, perhaps, [self], &found)
    return found
  }

  private func collect(
    _ events: [ChangeEvent], _ perhaps: [ChangeEvent], _ passed: [ChangeModel], _ found: inout [[ChangeModel]]
  ) {
    if events.isEmpty { found.append(passed) }
    for index in events.indices {
      var rest = events
      for next in after(rest.remove(at: index)) { next.collect(rest, perhaps, passed + [next], &found) }
    }
    for index in perhaps.indices {
      var rest = perhaps
      for next in after(rest.remove(at: index)) { next.collect(events, rest, passed + [next], &found) }
    }
  }
}

/// The changes of a room that a connection has, by their numbers.
struct ChangeCount: Sendable {
  /// The connection has all changes up to this one.
  private(set) var newest: Int64
  /// The higher numbers that the connection has. A reply may arrive after the event of a later change.
  private var later: Set<Int64> = []

  init(newest: Int64) { self.newest = newest }

  /// Returns false if the connection has the change already.
  mutating func add(_ number: Int64) -> Bool {
    guard number > newest, later.insert(number).inserted else { return false }
    while later.remove(newest + 1) != nil { newest += 1 }
    return true
  }
}
