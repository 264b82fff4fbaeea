// SPDX-License-Identifier: Apache-2.0
import CRelay
import RelayJSON
public import RelayProtocol

/// The kinds of requests that have a rate of their own.
public enum Rate: Sendable {
  case send, request, focus
  /// Joins and leaves.
  case membership

  var kind: relay_rate_t {
    switch self {
    case .send: RELAY_RATE_SEND
    case .request: RELAY_RATE_REQUEST
    case .focus: RELAY_RATE_FOCUS
    case .membership: RELAY_RATE_MEMBERSHIP
    }
  }
}

extension Hub {
  /// The user of this name, made when there is none, and kept until the matching ``release(_:)``.
  public func retain(_ user: User, lastSeen: Timestamp?) -> UserHandle {
    let id = Self.profile(of: user).withBytes {
      relay_user_create(hub, user.id.rawValue, $0, lastSeen?.rawValue ?? 0)
    }
    relay_user_retain(hub, id)
    return UserHandle(rawValue: id)
  }

  public func retain(_ user: UserHandle) { relay_user_retain(hub, user.rawValue) }

  /// Forgets a user that nothing needs any more.
  public func release(_ user: UserHandle) { relay_user_release(hub, user.rawValue) }

  public func user(_ name: UserID) -> UserHandle? { UserHandle(id: relay_user_named(hub, name.rawValue)) }

  public func name(of user: UserHandle) -> UserID? {
    relay_user_name(hub, user.rawValue).map { UserID(unchecked: String(cString: $0)) }
  }

  /// Who the user is, as far as is known.
  public func profile(of user: UserHandle) -> User? {
    guard let id = name(of: user) else { return nil }
    var profile = [UInt8](relay_user_profile(hub, user.rawValue))
    guard !profile.isEmpty else { return User(id: id) }
    profile[0] = UInt8(ascii: "{")
    profile.append(UInt8(ascii: "}"))
    let fields = try? JSONParser(deepest: 1).parse(profile)
    return User(
      id: id, name: try? fields?.string("name", longest: .max), avatar: try? fields?.string("avatar", longest: .max))
  }

  /// What others see of who the user is; a change is told to them, but not to the session that caused it.
  public func setProfile(_ user: User, of handle: UserHandle, cause: SessionHandle? = nil) {
    Self.profile(of: user).withBytes { _ = relay_user_set_profile(hub, handle.rawValue, $0, cause?.rawValue ?? 0) }
  }

  /// Shows the merged focus; a change is told to who may see it, but not to the session that caused it.
  public func setFocus(_ isFocused: Bool?, since: Timestamp?, of user: UserHandle, cause: SessionHandle? = nil) {
    _ = relay_user_set_focus(
      hub, user.rawValue, isFocused.map { $0 ? 1 : 0 } ?? -1, since?.rawValue ?? 0, cause?.rawValue ?? 0)
  }

  /// Takes tokens of a user; returns nil, or the time until they are available.
  public func takeTokens(_ rate: Rate, of user: UserHandle, count: Int = 1) -> Duration? {
    delay(relay_user_take_tokens(hub, user.rawValue, rate.kind, UInt32(clamping: count)))
  }

  /// The same for a room, whose rates all users share.
  public func takeToken(_ rate: Rate, of room: RoomHandle) -> Duration? {
    delay(relay_room_take_token(hub, room.rawValue, rate.kind))
  }

  /// The same for a message that may push, which costs more the more members it may push to.
  /// - Parameter sender: Pays with the room. It has paid the first token already.
  public func takeSend(to room: RoomHandle, by sender: UserHandle) -> Duration? {
    delay(relay_room_take_send(hub, room.rawValue, sender.rawValue))
  }

  private func delay(_ milliseconds: Int64) -> Duration? { milliseconds == 0 ? nil : .milliseconds(milliseconds) }

  public func setHasDevices(_ hasDevices: Bool, of user: UserHandle) {
    _ = relay_user_set_has_devices(hub, user.rawValue, hasDevices)
  }

  /// That some message may be refused by a filter of the user's: ``delivery(in:from:)`` names them.
  public func setHasFilter(_ hasFilter: Bool, of user: UserHandle) {
    _ = relay_user_set_has_filter(hub, user.rawValue, hasFilter)
  }

  /// Who sees the user's focus, and whether they are online; those for whom it changes are told at once.
  public func setSharing(focus: Audience, online: Audience, of user: UserHandle) {
    _ = relay_user_set_sharing(hub, user.rawValue, relay_audience_t(focus), relay_audience_t(online))
  }

  /// The other, who need not be in memory, sees nothing of the user any more, or does again.
  public func setBlocked(_ isBlocked: Bool, _ other: UserID, by user: UserHandle) {
    _ = relay_user_set_blocked(hub, user.rawValue, other.rawValue, isBlocked)
  }

  /// ``HubEvent/userDue(_:)`` at this time, once, if the user is in memory then; nil: not at all.
  public func setAlarm(_ time: Timestamp?, of user: UserHandle) {
    _ = relay_user_set_alarm(hub, user.rawValue, time?.rawValue ?? 0)
  }

  /// An event to each session of the user.
  public func push(_ json: [UInt8], to user: UserHandle) {
    json.withBytes { relay_user_push(hub, user.rawValue, $0) }
  }

  /// Whether they are members of one room in memory.
  public func sharesRoom(_ a: UserHandle, _ b: UserHandle) -> Bool {
    relay_user_shares_room(hub, a.rawValue, b.rawValue)
  }

  /// A user's presence entry as `viewer` may see it, as JSON.
  /// - Parameters:
  ///   - viewer: nil sees all.
  ///   - isRelated: They share a room.
  public func entry(of user: UserHandle, seenBy viewer: UserHandle?, isRelated: Bool) -> [UInt8]? {
    let viewer = viewer?.rawValue ?? 0
    let size = relay_user_entry(hub, user.rawValue, viewer, isRelated, nil, 0)
    guard size > 0 else { return nil }
    return [UInt8](unsafeUninitializedCapacity: size) { buffer, count in
      count = buffer.withMemoryRebound(to: CChar.self) {
        relay_user_entry(hub, user.rawValue, viewer, isRelated, $0.baseAddress, size)
      }
    }
  }

  /// Members of a JSON object that begin with a comma.
  static func profile(of user: User) -> [UInt8] {
    guard user.name != nil || user.avatar != nil else { return [] }
    var object = JSONWriter.object {
      $0["name"] = user.name
      $0["avatar"] = user.avatar
    }
    object[0] = UInt8(ascii: ",")
    object.removeLast()
    return object
  }
}

extension relay_audience_t {
  init(_ audience: Audience) {
    self =
      switch audience {
      case .none: RELAY_SHARE_NONE
      case .rooms: RELAY_SHARE_ROOMS
      case .watchers: RELAY_SHARE_WATCHERS
      }
  }
}
