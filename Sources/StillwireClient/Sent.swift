// SPDX-License-Identifier: Apache-2.0
import RelayJSON
public import RelayProtocol

/// A message that the relay has stored.
public struct Sent: Equatable, Sendable {
  public var seq: Int64
  public var time: Timestamp
  /// Whom it reaches, as the sender may know; nil: the room does not push, or it was stored before.
  public var delivery: Delivery?
  /// The key was seen: this is the message that it was first used for.
  public var isDuplicate: Bool

  public struct Delivery: Equatable, Sendable {
    public var live: Int
    public var push: Int
    public var waiting: Int
    /// “… has notifications silenced”: whom ``Room/notify(_:users:)`` may notify anyway.
    public var quiet: [UserID]
  }

  init(_ reply: JSON) {
    seq = reply["seq"]?.integer ?? 0
    time = reply.time("time") ?? Timestamp(rawValue: 0)
    isDuplicate = reply["duplicate"]?.flag ?? false
    delivery = reply["delivery"].map { told in
      func count(_ key: String) -> Int { Int(told[key]?.integer ?? 0) }
      return Delivery(
        live: count("live"), push: count("push"), waiting: count("waiting"),
        quiet: told["quiet"]?.items?.compactMap { $0.text.flatMap(UserID.init(rawValue:)) } ?? [])
    }
  }
}
