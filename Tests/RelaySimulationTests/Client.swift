// SPDX-License-Identifier: Apache-2.0
import RelayProtocol

/// A connection of a simulated person, and what has been asked on it.
final class Client {
  let slot: Slot
  let peer: Peer
  /// The requests that have no reply yet, by their ids.
  var questions: [Int: Question] = [:]
  /// How far it has come in each room that it hears.
  var heard: [RoomID: Int64] = [:]
  var isFrozen = false
  /// The relay has closed it, or it has said goodbye.
  var isEnding = false

  enum Question {
    case hello(acks: Bool, activity: Activity)
    case ask(Asking)
    /// Its reply tells that everything before it has come.
    case barrier
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

/// What is asked, with what was known when it was.
struct Asking {
  let ask: Ask
  /// Of a message.
  let body: Int
  /// What it is about: `back` messages before the newest that the client has heard of.
  let seq: Int64
  /// What a client that joins says it has.
  let after: Position?

  func write(_ json: inout JSONWriter.Object) {
    switch ask {
    case .join(let room, _, let history):
      json["type"] = "join"
      json["room"] = room.rawValue
      if let after {
        json.object("after") {
          $0["epoch"] = after.epoch
          $0.integer("seq", after.seq)
        }
      }
      if history > 0 { json.integer("history", history) }
    case .leave(let room, let stays):
      json["type"] = "leave"
      json["room"] = room.rawValue
      if stays { json.bool("stay", true) }
    case .send(let room, let key):
      json["type"] = "send"
      json["room"] = room.rawValue
      json.integer("body", body)
      json["key"] = key.map { String($0) }
    case .received(let room, _):
      json["type"] = "received"
      json["room"] = room.rawValue
      json.integer("seq", seq)
    case .read(let room, _):
      json["type"] = "read"
      json["room"] = room.rawValue
      json.integer("seq", seq)
    case .activity(let activity):
      json["type"] = "activity"
      json["state"] = activity.rawValue
    case .history(let room, _, let limit):
      json["type"] = "history"
      json["room"] = room.rawValue
      json.integer("before", seq + 1)
      json.integer("limit", limit)
    case .register(let device, let token):
      json["type"] = "device"
      json["device"] = device.rawValue
      json["platform"] = Platform.simulator.rawValue
      json["token"] = World.tokens[token]
    case .forget(let device):
      json["type"] = "device"
      json["device"] = device.rawValue
      json.raw("token", "null".utf8)
    }
  }
}

extension Ask {
  /// The room that it is about.
  var room: RoomID? {
    switch self {
    case .join(let room, _, _), .leave(let room, _), .send(let room, _), .received(let room, _), .read(let room, _),
      .history(let room, _, _):
      room
    case .activity, .register, .forget: nil
    }
  }

  /// Whether the session has to have joined the room.
  var needsRoom: Bool {
    if case .join = self { false } else { room != nil }
  }

  var back: Int {
    switch self {
    case .received(_, let back), .read(_, let back), .history(_, let back, _): back
    case .join, .leave, .send, .activity, .register, .forget: 0
    }
  }
}
