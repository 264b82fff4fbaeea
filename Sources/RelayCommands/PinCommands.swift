// SPDX-License-Identifier: Apache-2.0

// Commands about pinned messages. `Messages+Annotations.swift` performs the changes.

import RelayFollowers
import RelayHub
import RelayJSON
import RelayProtocol
import RelayRequests
import RelayState
import RelayStore

/// Pins a message of a room.
struct PinMessage: Command {
  package static let declaration = Declaration(
    frame: "pin", "PUT", "/v1/rooms/{room}/pins/{seq}", room: PinChange.inDirectRooms, also: [PinChange.inGroups],
    rate: .send, body: .ignored, errors: [.notFound, .restricted, .tooLarge, .unsupported])

  private let change: PinChange

  init(_ request: Request) throws(RequestError) { change = try PinChange(request) }

  package func run(_ relay: Relay, on core: isolated Core) async throws -> Reply {
    try await inRoom(of: change.request, relay, on: core) { access in
      try await change.perform(in: access, pins: true, relay, on: core)
    }
  }
}

/// Ends the pin of a message.
struct UnpinMessage: Command {
  package static let declaration = Declaration(
    frame: "unpin", "DELETE", "/v1/rooms/{room}/pins/{seq}", room: PinChange.inDirectRooms,
    also: [PinChange.inGroups], rate: .send, errors: [.notFound, .restricted, .unsupported])

  private let change: PinChange

  init(_ request: Request) throws(RequestError) { change = try PinChange(request) }

  package func run(_ relay: Relay, on core: isolated Core) async throws -> Reply {
    try await inRoom(of: change.request, relay, on: core) { access in
      try await change.perform(in: access, pins: false, relay, on: core)
    }
  }
}

/// Lists the pinned messages of a room, the newest pin first.
struct ListPins: Command {
  package static let declaration = Declaration(
    frame: "pins", "GET", "/v1/rooms/{room}/pins",
    room: .member(StoredText.pins.rights, "the pinned messages, with previews"))

  private let request: Request

  init(_ request: Request) throws(RequestError) {
    self.request = request
    _ = try request.room
  }

  package func run(_ relay: Relay, on core: isolated Core) async throws -> Reply {
    try await inRoom(of: request, relay, on: core) { access in
      // The reader's thread makes the JSON: parsing a long body for its preview would delay the hub's thread.
      let kept = relay.memory.policy(of: access.room, on: core).history.count
      let pins = try await core.store.read { reader in
        JSONWriter.array(
          try reader.messages.pins(of: access.room, kept: kept).map { pin in
            JSONWriter.object {
              $0.integer("seq", pin.seq)
              $0["from"] = pin.from.rawValue
              $0.integer("time", pin.time.rawValue)
              $0.integer("pinnedAt", pin.pinned?.rawValue)
              $0["preview"] = JSON.preview(ofBody: pin.body)
            }
          })
      }
      return Reply {
        $0["room"] = access.room.rawValue
        $0.raw("pins", pins)
      }
    }
  }
}

/// The message of a request to pin or to unpin.
private struct PinChange {
  static let inDirectRooms = RoomUse.member(.join, "the pin of a message of a direct room")
  static let inGroups = RoomUse.member(.join, role: .moderator, "the pin of a message of a group")

  let request: Request
  let seq: Int64

  init(_ request: Request) throws(RequestError) {
    self.request = request
    _ = try request.room
    seq = try request.seq
  }

  func perform(in access: RoomAccess, pins: Bool, _ relay: Relay, on core: isolated Core) async throws -> Reply {
    try relay.rooms.checkKeeps(access, request, on: core)
    try relay.rooms.checkIsNotRestricted(access, request, on: core)
    // All sessions in the room get the event, as of a message that is not pushed.
    try core.spend(sendTo: access.handle, by: request.caller, pushes: false)
    let (seq, room, actor) = (seq, access.room, relay.access.actor(of: request.caller, in: access.room, on: core))
    let requester = request.caller.session
    let pinned = try await relay.messages.annotate(.pinned, of: seq, in: access, requester: requester, on: core) {
      transaction, kept, time in
      let messages = transaction.messages
      return pins
        ? try messages.pin(room, seq, by: actor, at: time, kept: kept)
        : try messages.unpin(room, seq, by: actor, at: time, kept: kept)
    }
    return Reply {
      Replies.changed(seq, in: room, pinned.change)(&$0)
      $0.bool("pinned", pinned.value != nil)
    }
  }
}
