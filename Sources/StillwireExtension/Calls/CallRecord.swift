// SPDX-License-Identifier: Apache-2.0
// The calls of replies and events. Has no dependency on a connection.
public import RelayJSON
public import RelayProtocol

/// The state of a call, from a reply or an event.
public struct CallRecord: Equatable, Sendable {
  /// The room and the seq of the call's message. They name the call, also in the payloads of its pushes.
  public var message: MessageReference
  public var caller: UserID
  public var media: Call.Media
  public var state: Call.State
  public var began: Timestamp
  /// The end of the ringing.
  public var ringUntil: Timestamp
  /// The time at which the call was over. Is `nil` before.
  public var ended: Timestamp?
  /// The users who have answered or declined, and those who have hung up. Is empty in an event.
  public var parties: [UserID: Call.Party]

  /// Parses a call of a reply, or an event. Returns `nil` for other values.
  public init?(_ json: JSON) {
    guard let room: RoomID = json.name("room"), let seq = json["seq"]?.integer, let caller: UserID = json.name("from"),
      let media = json["media"]?.text.flatMap(Call.Media.init(rawValue:)),
      let state = json["state"]?.text.flatMap(Call.State.init(rawValue:)), let began = json.time("time"),
      let ringUntil = json.time("ringUntil")
    else { return nil }
    message = MessageReference(room: room, seq: seq)
    self.caller = caller
    self.media = media
    self.state = state
    self.began = began
    self.ringUntil = ringUntil
    ended = json.time("ended")
    parties = [:]
    for party in json["users"]?.items ?? [] {
      guard let user: UserID = party.name("user"),
        let state = party["state"]?.text.flatMap(Call.Party.State.init(rawValue:))
      else { continue }
      parties[user] = Call.Party(state, on: party.name("device"))
    }
  }
}

/// A change of a call: the frame `call` of a client.
public struct CallEvent: Equatable, Sendable {
  public var cause: Call.Cause
  public var call: CallRecord
  /// The user who has caused it. Is `nil` for the relay and a backend.
  public var user: UserID?
  /// The device of this user. Is `nil` if the session has none.
  public var device: DeviceID?
  /// True if the user of this client has muted the room, or the caller calls this user too often. The app does not ring.
  public var isMuted: Bool

  /// Parses a frame of type `call`. Returns `nil` for other frames.
  public init?(_ frame: JSON) {
    guard frame["type"]?.text == "call", let cause = frame["event"]?.text.flatMap(Call.Cause.init(rawValue:)),
      let call = CallRecord(frame)
    else { return nil }
    self.cause = cause
    self.call = call
    user = frame.name("user")
    device = frame.name("device")
    isMuted = frame["muted"]?.flag ?? false
  }
}
