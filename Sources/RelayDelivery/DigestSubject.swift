// SPDX-License-Identifier: Apache-2.0
public import RelayProtocol

/// Messages that are pushed together, because a silence, a gateway's failure or the limit of the sender's pushes
/// delayed them.
public struct DigestSubject: Equatable, Sendable {
  /// The newest message, as the relay would push it alone. The push has its id, collapse id, level, badge, expiry and
  /// topic.
  public var newest: PayloadSubject
  /// The number of messages in its room that the digest reports, at least 1.
  public var count: Int
  /// The other rooms, the one with the newest message first.
  public var others: [DigestRoom]

  public init(newest: PayloadSubject, count: Int = 1, others: [DigestRoom] = []) {
    self.newest = newest
    self.count = count
    self.others = others
  }

  /// The number of messages in all rooms.
  var total: Int { others.reduce(count) { $0 + $1.count } }
}

/// One of the other rooms of a digest.
public struct DigestRoom: Equatable, Sendable {
  public var room: RoomID
  /// The number of messages in this room that the digest reports, at least 1.
  public var count: Int
  /// The seq of the newest of these messages.
  public var seq: Int64
  /// The sender of the newest message.
  public var sender: User
  /// The text of the newest message. Is `nil` when its body has no text.
  public var text: String?

  public init(room: RoomID, count: Int, seq: Int64, sender: User, text: String?) {
    self.room = room
    self.count = count
    self.seq = seq
    self.sender = sender
    self.text = text
  }
}
