// SPDX-License-Identifier: Apache-2.0
import RelayDelivery
import RelayHub
import RelayProtocol
import TestRelay
import Testing

@testable import RelayCommands
@testable import RelayFollowers
@testable import RelayState
@testable import RelayStore

/// The changes that follow from the results of transactions, and the order of the followers.
@Suite struct ChangeTests {
  private let time = Timestamp(rawValue: 1_700_000_000_000)
  private let tea = RoomID(unchecked: "tea")
  private let ann = UserID(unchecked: "ann")
  private let bob = UserID(unchecked: "bob")
  private let mod = UserID(unchecked: "mod")

  private func call() -> Call {
    Call(MessageReference(room: tea, seq: 3), from: ann, began: time, ringUntil: time + .seconds(30))
  }

  @Test func `the hub shows a change first, then the sender gets the reply, and all others follow`() async throws {
    try await TestRelay.run { test async throws in
      #expect(
        await test.core.followerNames == [
          "Rooms", "SenderReplies", "Inbox", "Calls", "Deliveries", "People", "Invitations", "LateWriter", "AuditLog",
          "Restrictions",
        ])
    }
  }

  @Test func `the creator owns a new group, and an invited member has the read mark of the invitation`() {
    let state = RoomState(room: tea, epoch: "e", seq: 7, cursor: 7)
    var made = MadeRoom(
      state: state, details: RoomDetails(kind: .group, join: .open), isNew: true, added: [ann, bob],
      restricted: [bob: time])
    made.read = [bob: 3]
    let owner = made.membership(of: ann, madeBy: ann)
    #expect(owner.isNewMember && owner.role == .owner && owner.read == 7 && owner.restrictedUntil == nil)
    let member = made.membership(of: bob, madeBy: ann)
    #expect(member.role == .member && member.read == 3 && member.restrictedUntil == time)
    made.isNew = false
    #expect(made.membership(of: ann, madeBy: ann).role == .member)
  }

  @Test func `a deletion also changes the call that the message has begun`() {
    var edited = Edited(from: ann, time: time, isChanged: true, newest: 5, change: 2, moderator: mod)
    let handle = RoomHandle(rawValue: 1)
    func changes(in handle: RoomHandle?) -> [String] {
      [Change].deletion(of: 3, edited, by: mod, in: tea, handle, requester: nil, at: time).map(\.text)
    }
    #expect(changes(in: handle) == ["deleted 3 of ann by mod"])
    edited.call = call()
    #expect(changes(in: handle) == ["deleted 3 of ann by mod", "call 3 delete by mod"])
    // A call in a room that is not in memory still ends for its members.
    #expect(changes(in: nil) == ["call 3 delete by mod"])
  }

  @Test func `a user who leaves calls has declined them or hung up`() {
    var declined = call()
    declined.parties[bob] = Call.Party(.declined)
    var answered = call()
    answered.parties[bob] = Call.Party(.left)
    #expect(
      [Change].exclusions(of: bob, from: [declined, answered]).map(\.text) == [
        "call 3 decline by bob", "call 3 hangup by bob",
      ])
    // The store has the pseudonym of an erased user. Clients know the name.
    let pseudonym = UserID(unchecked: "erased-1")
    declined.parties = [pseudonym: Call.Party(.declined)]
    #expect([Change].exclusions(of: pseudonym, known: bob, from: [declined]).map(\.text) == ["call 3 decline by bob"])
  }

  @Test func `a room that was deleted with its last invitation follows the invitations`() {
    var changes = InvitationChanges(endedWith: tea, of: [bob])
    #expect([Change].effects(of: changes).map(\.text) == ["invitations 1"])
    changes.deletedRooms = [tea]
    #expect([Change].effects(of: changes).map(\.text) == ["invitations 1", "room tea"])
  }

  @Test(arguments: [Annotation.Kind.reactions, .pinned])
  func `an annotation that stays as it is changes nothing`(_ kind: Annotation.Kind) {
    var annotated = Annotated(value: Array("1".utf8), change: nil, newest: 5)
    func numbers() -> [Int64] {
      [Change].annotation(annotated, kind, of: 3, in: tea, RoomHandle(rawValue: 1), requester: nil, at: time).map {
        guard case .annotated(let change) = $0 else { return -1 }
        return change.message.change
      }
    }
    #expect(numbers().isEmpty)
    annotated.change = 7
    #expect(numbers() == [7])
  }
}

extension Core {
  fileprivate var followerNames: [String] { relay.followers.all.map { "\(type(of: $0))" } }
}

extension Change {
  fileprivate var text: String {
    switch self {
    case .deleted(let change, let sender):
      "deleted \(change.message.seq) of \(sender.rawValue) by \(change.message.moderator?.rawValue ?? "-")"
    case .call(let call, let cause, let user, _):
      "call \(call.message.seq) \(cause.rawValue) by \(user?.rawValue ?? "-")"
    case .invitations(let changes): "invitations \(changes.ended.count)"
    case .roomDeleted(let deleted): "room \(deleted.room.rawValue)"
    default: "another"
    }
  }
}
