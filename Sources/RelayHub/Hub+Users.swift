// SPDX-License-Identifier: Apache-2.0
import CRelay
import RelayJSON
public import RelayProtocol

// Users in memory: their names, shared Focus, blocks, rates and presence entries.

/// The rate limits of a user. Each request counts against one of them, over a session and over HTTP.
public enum Rate: Sendable {
  case send, request, focus

  var kind: relay_rate_t {
    switch self {
    case .send: RELAY_RATE_SEND
    case .request: RELAY_RATE_REQUEST
    case .focus: RELAY_RATE_FOCUS
    }
  }

  /// The text of the error for a request above the rate limit.
  public var refusal: String { String(cString: relay_user_rate_refusal(kind)) }
}

/// The rate limits of a room, which all users share.
public enum RoomRate: Sendable {
  case send
  /// New and ended memberships.
  case membership

  fileprivate var kind: relay_rate_t {
    switch self {
    case .send: RELAY_RATE_SEND
    case .membership: RELAY_RATE_MEMBERSHIP
    }
  }
}

extension Hub {
  /// Returns the user of this name, and creates it if it is not in memory. The hub keeps the user until the matching
  /// ``release(_:)``.
  public func retain(_ user: User, lastSeen: Timestamp?) -> UserHandle {
    let id = Self.profile(of: user).withBytes {
      relay_user_create(hub, user.id.rawValue, $0, lastSeen?.rawValue ?? 0)
    }
    relay_user_retain(hub, id)
    return UserHandle(rawValue: id)
  }

  public func retain(_ user: UserHandle) { relay_user_retain(hub, user.rawValue) }

  /// Ends one ``retain(_:)``. The hub removes the user from memory when nothing else needs it.
  public func release(_ user: UserHandle) { relay_user_release(hub, user.rawValue) }

  /// Starts to await the users who were online when an earlier run ended. ``HubEvent/returnsOver`` follows after the
  /// time. Call it before users are in memory.
  public func awaitReturns(for time: Duration) { relay_hub_await_returns(hub, Int64(time / .milliseconds(1))) }

  /// Shows a user as online who was online when an earlier run ended, until the user returns or the time of
  /// ``awaitReturns(for:)`` is over. Has no effect after that time, or if the user has already been online in this run.
  public func awaitReturn(of user: UserHandle, as activity: Activity) {
    _ = relay_user_await(hub, user.rawValue, relay_activity_t(activity))
  }

  /// Takes the state of a user as announced: it was loaded, and did not change.
  public func settle(_ user: UserHandle) { relay_user_settle(hub, user.rawValue) }

  /// Begins or ends ``HubEvent/presence(_:entry:)``. Meanwhile users whose Focus ends by time stay in memory.
  public func followPresence(_ isOn: Bool) { relay_hub_follow_presence(hub, isOn) }

  /// Removes users from memory that nothing needs any more. Call it in parts after ``followPresence(_:)`` has ended.
  /// - Returns: The `from` of the next part. Is `nil` after the last part.
  public func releaseUsers(from: Int, count: Int) -> Int? {
    let next = relay_hub_release_users(hub, from, count)
    return next > 0 ? next : nil
  }

  /// True if the user has a session, is within the grace, or is awaited.
  public func isOnline(_ user: UserHandle) -> Bool { relay_user_is_online(hub, user.rawValue) }

  public func user(_ name: UserID) -> UserHandle? { UserHandle(id: relay_user_named(hub, name.rawValue)) }

  public func name(of user: UserHandle) -> UserID? {
    relay_user_name(hub, user.rawValue).map { UserID(unchecked: String(cString: $0)) }
  }

  /// The user with the name and the avatar that the hub has. Returns `nil` if the user is not in memory.
  public func profile(of user: UserHandle) -> User? {
    guard let id = name(of: user) else { return nil }
    var profile = [UInt8](relay_user_profile(hub, user.rawValue))
    guard !profile.isEmpty else { return User(id: id) }
    profile[0] = UInt8(ascii: "{")
    profile.append(UInt8(ascii: "}"))
    let fields = try? JSONParser(maxDepth: 1).parse(profile)
    return User(
      id: id, name: try? fields?.string("name", maxLength: .max), avatar: try? fields?.string("avatar", maxLength: .max)
    )
  }

  /// Sets the name and the avatar that others see. A change is sent to them, except to the session `requester`.
  public func setProfile(_ user: User, of handle: UserHandle, requester: SessionHandle? = nil) {
    Self.profile(of: user).withBytes { _ = relay_user_set_profile(hub, handle.rawValue, $0, requester?.rawValue ?? 0) }
  }

  /// Sets the user's merged Focus. A change is sent to all who may see it, except to the session `requester`.
  /// - Parameters:
  ///   - isFocused: `nil` if the Focus is unknown.
  ///   - since: The time at which the Focus was switched on.
  public func setFocus(_ isFocused: Bool?, since: Timestamp?, of user: UserHandle, requester: SessionHandle? = nil) {
    _ = relay_user_set_focus(
      hub, user.rawValue, isFocused.map { $0 ? 1 : 0 } ?? -1, since?.rawValue ?? 0, requester?.rawValue ?? 0)
  }

  /// Takes tokens from a rate limit of a user.
  /// - Returns: `nil` on success; otherwise the time until the tokens are available.
  public func takeTokens(_ rate: Rate, of user: UserHandle, count: Int = 1) -> Duration? {
    delay(relay_user_take_tokens(hub, user.rawValue, rate.kind, UInt32(clamping: count)))
  }

  /// The same for a room.
  public func takeToken(_ rate: RoomRate, of room: RoomHandle) -> Duration? {
    delay(relay_room_take_token(hub, room.rawValue, rate.kind))
  }

  /// The same for a message that may cause pushes. It costs one token, and one more for each 100 members to push to.
  /// - Parameter sender: Its rate limit pays, too, except for the first token, which it has paid with its request.
  public func takeSend(to room: RoomHandle, by sender: UserHandle) -> Duration? {
    delay(relay_room_take_send(hub, room.rawValue, sender.rawValue))
  }

  private func delay(_ milliseconds: Int64) -> Duration? { milliseconds == 0 ? nil : .milliseconds(milliseconds) }

  public func setPushesUnread(_ pushesUnread: Bool, of user: UserHandle) {
    _ = relay_user_set_pushes_unread(hub, user.rawValue, pushesUnread)
  }

  public func hasDevices(_ user: UserHandle) -> Bool { relay_user_has_devices(hub, user.rawValue) }

  public func setHasDevices(_ hasDevices: Bool, of user: UserHandle) {
    _ = relay_user_set_has_devices(hub, user.rawValue, hasDevices)
  }

  /// Sets whether the user has a filter that may silence messages. ``delivery(in:from:)`` lists such users.
  public func setHasFilter(_ hasFilter: Bool, of user: UserHandle) {
    _ = relay_user_set_has_filter(hub, user.rawValue, hasFilter)
  }

  /// Sets the audiences of the user's Focus and online state. The hub immediately sends the new state to each session
  /// whose view changes.
  public func setSharing(focus: Audience, online: Audience, of user: UserHandle) {
    _ = relay_user_set_sharing(hub, user.rawValue, relay_audience_t(focus), relay_audience_t(online))
  }

  /// Blocks or unblocks `other` for the user. A blocked user does not see the blocker's presence. `other` need not be
  /// in memory.
  public func setBlocked(_ isBlocked: Bool, _ other: UserID, by user: UserHandle) {
    _ = relay_user_set_blocked(hub, user.rawValue, other.rawValue, isBlocked)
  }

  /// Requests one ``HubEvent/userDue(_:)`` at this time, if the user is in memory then. `nil` cancels it.
  public func setAlarm(_ time: Timestamp?, of user: UserHandle) {
    _ = relay_user_set_alarm(hub, user.rawValue, time?.rawValue ?? 0)
  }

  /// Sends an event to each session of the user.
  public func push(_ json: [UInt8], to user: UserHandle) {
    json.withBytes { relay_user_push(hub, user.rawValue, $0) }
  }

  /// True if both users are members of the same room in memory.
  public func sharesRoom(_ a: UserHandle, _ b: UserHandle) -> Bool {
    relay_user_shares_room(hub, a.rawValue, b.rawValue)
  }

  /// A user's presence entry, as JSON.
  /// - Parameters:
  ///   - viewer: The user whose view the entry shows; `nil` shows everything.
  ///   - isRelated: True if the two users share a room.
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

  /// The user's name and avatar as members of a JSON object, with a leading comma. May be empty.
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

extension relay_activity_t {
  init(_ activity: Activity) {
    self =
      switch activity {
      case .active: RELAY_ACTIVE
      case .idle: RELAY_IDLE
      case .background: RELAY_BACKGROUND
      }
  }
}

extension Activity {
  init(_ activity: relay_activity_t) {
    self =
      switch activity {
      case RELAY_ACTIVE: .active
      case RELAY_IDLE: .idle
      default: .background
      }
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
