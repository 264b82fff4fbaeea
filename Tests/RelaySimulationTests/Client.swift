// SPDX-License-Identifier: Apache-2.0
import RelayJSON
import RelayProtocol

/// A connection of a simulated person, and what has been asked on it.
final class Client {
  let slot: Slot
  let peer: Peer
  /// The requests that have no reply yet, by their ids.
  var questions: [Int: Question] = [:]
  /// How far it has come in each room that it hears.
  var heard: [RoomID: Int64] = [:]
  /// What it was last told of users' Focus; nil within: null.
  var shown: [UserID: Bool?] = [:]
  /// What that is to be and is not yet.
  var wrong: [UserID: Wrong] = [:]
  var isFrozen = false
  /// The relay has closed it, or it has said goodbye.
  var isEnding = false

  struct Wrong {
    let truth: Bool?
    let since: Timestamp
  }

  enum Question {
    case hello(acks: Bool, activity: Activity)
    case ask(Asking)
  }

  init(slot: Slot, port: UInt16) throws {
    self.slot = slot
    peer = try Peer(port: port)
  }

  /// Sends a request.
  func ask(_ question: Question, id: Int, _ members: (inout JSONWriter.Object) -> Void) {
    questions[id] = question
    peer.say(
      JSONWriter.object {
        $0.integer("id", id)
        members(&$0)
      })
  }

  func hears(_ room: RoomID) -> Bool { heard[room] != nil }
}
