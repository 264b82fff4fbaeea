// SPDX-License-Identifier: Apache-2.0
public import RelayJSON
public import RelayProtocol
import StillwireExtension

/// A room in the user's list, from a reply to ``Stillwire/rooms(_:limit:hasPreview:)`` or from an ``Event/frame(_:)`` of
/// type `inbox`.
public struct RoomEntry: Equatable, Sendable {
  /// The newest message of a room.
  public struct LastMessage: Equatable, Sendable {
    public var seq: Int64
    public var time: Timestamp
    public var from: UserID
    /// The name of the sender that others see.
    public var name: String?
    /// The beginning of the text, at most 160 characters. Is `nil` without a text.
    public var preview: String?
    public var isDeleted: Bool
  }

  public var room: RoomID
  public var kind: RoomKind
  public var title: String?
  public var avatar: String?
  public var memberCount: Int
  /// The other person of a direct room.
  public var other: UserID?
  /// The name of the other person that others see.
  public var otherName: String?
  /// Is `nil` if the room has no message, or keeps none any more.
  public var lastMessage: LastMessage?
  public var unread: Int
  /// The unread messages that mention the user.
  public var mentions: Int
  public var isMuted: Bool
  /// The read mark of the user.
  public var read: Int64

  /// Parses an entry, or the event `inbox` with `event` `changed`. Returns `nil` for other values.
  public init?(_ json: JSON) {
    guard let room: RoomID = json.name("room"), let kind = json["kind"]?.text.flatMap(RoomKind.init(rawValue:)),
      let read = json["read"]?.integer
    else { return nil }
    self.room = room
    self.kind = kind
    self.read = read
    title = json["title"]?.text
    avatar = json["avatar"]?.text
    let members = json["members"]
    memberCount = Int(clamping: members?["count"]?.integer ?? 0)
    other = members?["other"]?.name("user")
    otherName = members?["other"]?["name"]?.text
    lastMessage = json["lastMessage"].flatMap(LastMessage.init)
    unread = Int(clamping: json["unread"]?.integer ?? 0)
    mentions = Int(clamping: json["mentions"]?.integer ?? 0)
    isMuted = json["muted"]?.flag ?? false
  }
}

extension RoomEntry.LastMessage {
  fileprivate init?(_ json: JSON) {
    guard let seq = json["seq"]?.integer, let time = json.time("time"), let from: UserID = json.name("from") else {
      return nil
    }
    self.init(
      seq: seq, time: time, from: from, name: json["name"]?.text, preview: json["preview"]?.text,
      isDeleted: json["deleted"]?.flag ?? false)
  }
}

/// A page of the user's list of rooms.
public struct RoomPage: Equatable, Sendable {
  /// A later entry of a room replaces an earlier one.
  public var rooms: [RoomEntry]
  /// The position for ``Part/since(_:)``.
  public var position: String
  /// The argument of ``Part/after(_:)`` for the next page. Is `nil` in the last page.
  public var next: String?
  /// True if the changes are not complete. The page is then the first one of the whole list.
  public var isReset: Bool

  /// The part of the list that a request is about.
  public enum Part: Equatable, Sendable {
    /// The rooms with the newest activity.
    case newest
    /// The page after the one with this ``RoomPage/next``.
    case after(String)
    /// The rooms that have changed since this ``RoomPage/position``.
    case since(String)
  }

  init(_ reply: JSON) {
    rooms = reply["rooms"]?.items?.compactMap(RoomEntry.init) ?? []
    position = reply["position"]?.text ?? ""
    next = reply["next"]?.text
    isReset = reply["reset"]?.flag ?? false
  }
}

extension Stillwire {
  /// Lists the rooms of the user, those with the newest activity first. The client need not join them.
  /// - Parameters:
  ///   - limit: The maximum number of rooms, 1 to 100.
  ///   - hasPreview: False if the app needs no texts of messages.
  public func rooms(
    _ part: RoomPage.Part = .newest, limit: Int = 50, hasPreview: Bool = true
  ) async throws -> RoomPage {
    var fields: [String: JSON] = ["limit": .number(String(limit))]
    switch part {
    case .newest: break
    case .after(let next): fields["after"] = .string(next)
    case .since(let position): fields["since"] = .string(position)
    }
    if !hasPreview { fields["preview"] = "none" }
    return RoomPage(try await request("rooms", fields))
  }
}
