// SPDX-License-Identifier: Apache-2.0
public import RelayJSON
public import RelayProtocol
import StillwireExtension

/// A pinned message in a reply to ``Room/pins()``.
public struct Pin: Equatable, Sendable {
  public var seq: Int64
  /// The sender of the message.
  public var from: UserID
  /// The time of the message.
  public var time: Timestamp
  /// The time of the pin.
  public var pinned: Timestamp
  /// The beginning of the text, at most 160 characters. Is `nil` without a text.
  public var preview: String?

  /// Parses an entry. Returns `nil` for other values.
  public init?(_ json: JSON) {
    guard let seq = json["seq"]?.integer, let from: UserID = json.name("from"), let time = json.time("time"),
      let pinned = json.time("pinnedAt")
    else { return nil }
    self.seq = seq
    self.from = from
    self.time = time
    self.pinned = pinned
    preview = json["preview"]?.text
  }
}
