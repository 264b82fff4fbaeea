// SPDX-License-Identifier: Apache-2.0
import RelayJSON
public import RelayProtocol

/// The presence of a user, as far as the user shares it. It covers all sessions and devices of the user.
public struct Presence: Equatable, Sendable {
  public var user: UserID
  public var name: String?
  public var avatar: String?
  public var isOnline: Bool
  public var activity: Activity?
  /// True if a Focus silences notifications. Is `nil` if it is unknown or not shared, which counts as not silenced.
  public var isFocused: Bool?
  public var focusSince: Timestamp?
  /// The end of the last session, rounded to seconds. Is `nil` while the user is online.
  public var lastSeen: Timestamp?
  /// The status of the user. Is `nil` if the user has none, or does not share the online state.
  public var status: UserStatus?
  /// The end of the member's restriction in the room. Is `nil` without one, and outside of a list of members.
  public var restrictedUntil: Timestamp?

  public init(
    user: UserID, name: String? = nil, avatar: String? = nil, isOnline: Bool = false, activity: Activity? = nil,
    isFocused: Bool? = nil, focusSince: Timestamp? = nil, lastSeen: Timestamp? = nil,
    status: UserStatus? = nil, restrictedUntil: Timestamp? = nil
  ) {
    self.user = user
    self.name = name
    self.avatar = avatar
    self.isOnline = isOnline
    self.activity = activity
    self.isFocused = isFocused
    self.focusSince = focusSince
    self.lastSeen = lastSeen
    self.status = status
    self.restrictedUntil = restrictedUntil
  }

  /// True only if the user is known to have a Focus (“… has notifications silenced”).
  public var isSilenced: Bool { isFocused == true }

  /// Parses an entry. Returns `nil` if the value is not an entry.
  init?(_ json: JSON) {
    guard let user: UserID = json.name("user") else { return nil }
    self.init(
      user: user, name: json["name"]?.text, avatar: json["avatar"]?.text, isOnline: json["online"]?.flag ?? false,
      activity: json["activity"]?.text.flatMap(Activity.init(rawValue:)), isFocused: json["isFocused"]?.flag,
      focusSince: json.time("focusSince"), lastSeen: json.time("lastSeen"),
      status: json["status"].flatMap(UserStatus.init), restrictedUntil: json.time("restrictedUntil"))
  }
}
