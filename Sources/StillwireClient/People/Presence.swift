// SPDX-License-Identifier: Apache-2.0
import RelayJSON
public import RelayProtocol

/// What a user lets one see of them: one entry for all their sessions and devices.
public struct Presence: Equatable, Sendable {
  public var user: UserID
  public var name: String?
  public var avatar: String?
  public var isOnline: Bool
  public var activity: Activity?
  /// Whether a Focus silences notifications; nil: not told, which silences nobody.
  public var isFocused: Bool?
  public var focusSince: Timestamp?
  /// To the second; of who is not online.
  public var lastSeen: Timestamp?

  public init(
    user: UserID, name: String? = nil, avatar: String? = nil, isOnline: Bool = false, activity: Activity? = nil,
    isFocused: Bool? = nil, focusSince: Timestamp? = nil, lastSeen: Timestamp? = nil
  ) {
    self.user = user
    self.name = name
    self.avatar = avatar
    self.isOnline = isOnline
    self.activity = activity
    self.isFocused = isFocused
    self.focusSince = focusSince
    self.lastSeen = lastSeen
  }

  /// “… has notifications silenced”: only a clear yes.
  public var isSilenced: Bool { isFocused == true }

  /// nil: it is no entry.
  init?(_ json: JSON) {
    guard let user: UserID = json.name("user") else { return nil }
    self.init(
      user: user, name: json["name"]?.text, avatar: json["avatar"]?.text, isOnline: json["online"]?.flag ?? false,
      activity: json["activity"]?.text.flatMap(Activity.init(rawValue:)), isFocused: json["isFocused"]?.flag,
      focusSince: json.time("focusSince"), lastSeen: json.time("lastSeen"))
  }
}
