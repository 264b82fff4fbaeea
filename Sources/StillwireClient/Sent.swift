// SPDX-License-Identifier: Apache-2.0
import RelayJSON
public import RelayProtocol

/// A message that the relay has stored.
public struct Sent: Equatable, Sendable {
  public var seq: Int64
  public var time: Timestamp
  /// The numbers of members that the message reaches. Is `nil` if the room does not push, or if the message is a
  /// duplicate.
  public var delivery: Delivery?
  /// The message that the new one answers. Is `nil` if the relay does not quote it.
  public var quote: Quote?
  /// True if the key was used before. The other values are those of the message that was stored then.
  public var isDuplicate: Bool

  /// The delivery of a message, as far as its sender may see it.
  public struct Delivery: Equatable, Sendable {
    public var live: Int
    public var push: Int
    public var waiting: Int
    /// The members whose Focus silenced the message (“… has notifications silenced”). ``Room/notify(_:users:)`` can
    /// notify them anyway.
    public var silenced: [UserID]
  }

  init(_ reply: JSON) {
    seq = reply["seq"]?.integer ?? 0
    time = reply.time("time") ?? Timestamp(rawValue: 0)
    quote = Quote(reply["quote"])
    isDuplicate = reply["duplicate"]?.flag ?? false
    delivery = reply["delivery"].map { json in
      func count(_ key: String) -> Int { Int(json[key]?.integer ?? 0) }
      return Delivery(
        live: count("live"), push: count("push"), waiting: count("waiting"),
        silenced: json["quiet"]?.items?.compactMap { $0.text.flatMap(UserID.init(rawValue:)) } ?? [])
    }
  }
}
