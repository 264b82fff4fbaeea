// SPDX-License-Identifier: Apache-2.0
// The messages that the app sends with `ClientMachine`. `Outbox` queues them.
package import RelayJSON
import RelayProtocol

extension ClientMachine {
  /// Queues a message of the app. The client sends it when the room is joined.
  /// - Parameter fields: The members of `send`, without `room` and `key`.
  package mutating func sendRequested(_ room: RoomID, _ fields: [String: JSON], key: String?, _ ticket: Ticket) {
    // A refused client does not reconnect by itself, so the message would wait without an end.
    guard link != .refused else { return finish(ticket, .failure(.closed)) }
    guard tracks[room] != nil else {
      return finish(ticket, .failure(StillwireError(.notJoined, "join \(room) before sending to it")))
    }
    guard !outbox.isFull else { return finish(ticket, .failure(.outboxFull)) }
    var fields = fields
    let key = key ?? settings.key()
    fields["room"] = .string(room.rawValue)
    fields["key"] = .string(key)
    use(room)
    outbox.withLane(room) { $0.add(Draft(ticket: ticket, key: key, fields: fields)) }
    send(room)
  }

  /// Sends the next message of the room if it is due.
  mutating func send(_ room: RoomID) {
    while isOpen, tracks[room]?.phase == .joined {
      switch outbox.withLane(room, { [moment] in $0.next(at: moment) }) {
      case .send(let draft):
        let id = requests.begin(.send(room, key: draft.key), at: now)
        let bytes = frame("send", draft.fields, id: id)
        guard bytes.count > maxFrame else {
          requests.sized(id, bytes.count)
          return act(.write(bytes))
        }
        _ = requests.answered(id)
        _ = outbox.withLane(room) { $0.answered() }
        finish(draft.ticket, .failure(tooLarge(bytes.count)))
      case .giveUp(let draft): finish(draft.ticket, .failure(.uncertain))
      case nil: return
      }
    }
  }

  mutating func sendAnswered(_ room: RoomID, _ result: Result<JSON, StillwireError>) {
    if case .failure(let error) = result, error.isTemporary {
      let random = settings.random()
      outbox.withLane(room) { [now] in $0.refused(at: now, retryAfter: error.retryAfter ?? .zero, random: random) }
      return release(room)
    }
    let draft = outbox.withLane(room) { $0.answered() }
    finish(draft.ticket, result)
    if case .success(let reply) = result, let message = Message(draft, reply, in: room, from: user) {
      show(message, isSending: false)
    }
    release(room)
    send(room)
  }
}

extension Message {
  /// Makes this client's own message from its draft and the reply to `send`. Returns `nil` if the reply has no `seq`.
  fileprivate init?(_ draft: Draft, _ reply: JSON, in room: RoomID, from user: UserID?) {
    guard let seq = reply["seq"]?.integer, seq > 0, let user else { return nil }
    self.init(
      room: room, seq: seq, from: user, time: reply.time("time"), body: draft.fields["body"] ?? .null,
      mentions: Mentions(draft.fields["mentions"]),
      replyTo: draft.fields["replyTo"]?.integer)
    quote = Quote(reply["quote"])
  }
}
