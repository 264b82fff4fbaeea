// SPDX-License-Identifier: Apache-2.0
public import RelayProtocol

/// Messages that become one push, because a silence held them back, or a gateway, or their sender's pace.
public struct DigestSubject: Equatable, Sendable {
  /// The newest message of all, as it would be pushed by itself: id, collapse id, level, badge, expiry and topic of the
  /// push are its.
  public var newest: PayloadSubject
  /// How many messages of its room are told of; at least 1.
  public var count: Int
  /// The other rooms, the one with the newest message first.
  public var others: [DigestRoom]

  public init(newest: PayloadSubject, count: Int = 1, others: [DigestRoom] = []) {
    self.newest = newest
    self.count = count
    self.others = others
  }

  /// Of all rooms.
  var total: Int { others.reduce(count) { $0 + $1.count } }
}

/// A room of which a digest tells.
public struct DigestRoom: Equatable, Sendable {
  public var room: RoomID
  /// How many of its messages are told of; at least 1.
  public var count: Int
  /// The newest of these.
  public var seq: Int64
  /// Whose it is.
  public var sender: User
  /// What a person reads; nil when the body holds no text.
  public var text: String?

  public init(room: RoomID, count: Int, seq: Int64, sender: User, text: String?) {
    self.room = room
    self.count = count
    self.seq = seq
    self.sender = sender
    self.text = text
  }
}
