// SPDX-License-Identifier: Apache-2.0
import RelayJSON
import RelayProtocol

/// A connection of a simulated user, with its open requests.
final class Client {
  let slot: Slot
  let peer: Peer
  /// The requests without a reply, by their ids.
  var pendingRequests: [Int: PendingRequest] = [:]
  /// The newest message that the client has received in each joined room.
  var received: [RoomID: Int64] = [:]
  /// The changes that the client has in each joined room.
  var changes: [RoomID: ChangeCount] = [:]
  /// The Focus of each user that the client received last. The inner `nil` means null.
  var shown: [UserID: Bool?] = [:]
  /// The Focus states that the client must receive and has not received yet.
  var wrong: [UserID: Wrong] = [:]
  /// The state of each call that the client received last.
  var calls: [Place: Call.State] = [:]
  /// The role of each member that the client was shown in the present step.
  var roles: [Membership: RoomRole] = [:]
  /// True until the end of the step in which the client connected.
  var isNew = true
  var isFrozen = false
  /// True while the line is slow: the client gets the frames in `heldUp` later, and sends nothing.
  var isSlow = false
  var heldUp: [Peer.Frame] = []
  /// The calls whose changes the relay did not show to the user while the line was slow.
  var hiddenCalls: Set<Place> = []
  /// True if the relay or the client has begun to close the connection.
  var isEnding = false

  struct Wrong {
    let truth: Bool?
    let since: Timestamp
  }

  enum PendingRequest {
    case hello(acks: Bool, activity: Activity)
    case request(SentRequest)
  }

  init(slot: Slot, port: UInt16) throws {
    self.slot = slot
    peer = try Peer(port: port)
  }

  /// Sends a request.
  func request(_ pending: PendingRequest, id: Int, _ members: (inout JSONWriter.Object) -> Void) {
    pendingRequests[id] = pending
    peer.say(
      JSONWriter.object {
        $0.integer("id", id)
        members(&$0)
      })
  }

  func receives(_ room: RoomID) -> Bool { received[room] != nil }

  /// True if a join of the room has no reply.
  func isJoining(_ room: RoomID?) -> Bool {
    pendingRequests.values.contains { pending in
      guard case .request(let sentRequest) = pending, case .join(room, _, _) = sentRequest.request else { return false }
      return true
    }
  }

  /// True if the client sends requests.
  var isTalking: Bool { !isFrozen && !isSlow && !isEnding }
}
