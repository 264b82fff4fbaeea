// SPDX-License-Identifier: Apache-2.0
package import RelayDelivery
import RelayIdentity
package import RelayJSON
package import RelayProtocol
import RelayPush

// Parses the fields of requests, with their types and bounds.

extension Position {
  fileprivate static let epochField = Field<String?>.text("epoch", maxLength: maxEpochLength).required()
  package static let field = Field<Fields?>.object(
    "after", ObjectDeclaration("Position", fields: [epochField, SharedFields.seq]),
    "The last position that this client has received.")
}

extension Fields {
  /// The member `after` of `join`.
  package var position: Position? {
    get throws(RequestError) {
      guard let after = try Position.field.value(in: self) else { return nil }
      return Position(epoch: try Position.epochField.value(in: after), seq: try SharedFields.seq.value(in: after))
    }
  }

  /// The user of a `hello` in open mode.
  package var openUser: User {
    get throws(RequestError) {
      try profile(of: required("user", User.openName.value(in: self)), hasAddress: false)
    }
  }
}

extension User {
  fileprivate static let openName = Field<UserID?>.name(
    "user", "The user name. Required in open mode, and only permitted there.")

  /// The members of `hello` that describe the user.
  package static let openFields: [any DeclaredField] = [
    openName,
    FieldDeclaration(
      "name", .line(maxLength: maxNameLength), "The name for other users, in open mode. One line of at most 256 bytes."),
    FieldDeclaration(
      "avatar", .text(maxLength: maxAvatarLength), "An https URL of a picture, in open mode. At most 2,048 bytes."),
  ]
}

/// The members that reports of a Focus and of a filter have in common.
private enum ReportFields {
  static let device = Field<DeviceID?>.name("device", "The device that reports. The default is `default`.").inFrames(
    "The device that reports. The default is that of `hello`, or else `default`.")
  static let at = Field<Timestamp?>.time(
    "at", "The time of the change. The default is now. A time more than 60 s ahead counts as now.")
}

extension FocusReport {
  private static let focused = Field<Bool?>.flag(
    "isFocused", "true if notifications are silenced. null: the state is unknown."
  ).present
  private static let permission = Field<FocusAuthorization?>.choice(
    "authorization",
    """
    The permission of the app to read the Focus. Each value but `authorized` (the default) makes the state unknown.
    """)
  private static let counter = Field<Int64?>.whole(
    "number",
    """
    A counter of the device, or a time in milliseconds. The relay does not apply a report whose number is not above \
    the newest. It takes a number of 13 digits for a time. If the newest number is a time more than 60 s ahead, it \
    gives way to a number that is not.
    """)
  private static let origin = Field<FocusSource?>.choice("source", "The source of the state.")

  package static let fields: [any DeclaredField] = [
    focused, permission, ReportFields.device, ReportFields.at, counter, origin,
  ]

  /// - Parameter device: The device of the session or of the report key. A device in the report takes precedence.
  package init(_ fields: Fields, device: DeviceID?) throws(RequestError) {
    let isFocused = try Self.focused.value(in: fields)
    self.init(
      device: try ReportFields.device.value(in: fields) ?? device ?? .default, isFocused: isFocused,
      authorization: try Self.permission.value(in: fields) ?? .authorized, at: try ReportFields.at.value(in: fields),
      number: try Self.counter.value(in: fields), source: try Self.origin.value(in: fields))
  }
}

/// A request about a device: register it for pushes, or forget it.
package enum DeviceRequest {
  case register(Device)
  case forget(DeviceID)

  private static let platformField = Field<Platform?>.choice(
    "platform",
    """
    Required with a token. `apns` needs an app with a credential in the configuration, `http` an app with a Matrix \
    gateway, and `webpush` a key of the relay (`webPush.keyFile`).
    """
  ).inFrames(
    """
    Required with a token. `apns` needs an app with a credential in the configuration, `http` an app with a Matrix \
    gateway, `webpush` a key of the relay (`webPush.keyFile`), and `simulator` open mode or the setting \
    `simulatedPhones`.
    """)
  private static let appField = Field<String?>.text(
    "app", maxLength: App.maxNameLength,
    "The bundle id of the app. If the configuration names apps, it must be one of them.")
  private static let environment = Field<PushEnvironment?>.choice(
    "environment", "Apple's service that knows the token. If it is absent, the relay finds it out.")
  private static let topic = Field<String?>.text(
    "topic", maxLength: App.maxNameLength, "One of the app's bundle ids, if the app has several.")
  private static let voipToken = FieldDeclaration(
    "voipToken", .text(maxLength: 4096),
    "The token for calls. A call reaches the device even if alerts are off. At most 4,096 bytes.")
  private static let criteria = Field<String?>.text(
    "criteria", maxLength: FilterReport.maxCriteriaLength,
    "The label of the account, which Focus filters match. At most 128 bytes.")
  private static let alerts = Field<Bool?>.flag(
    "alerts", "false: the device shows no notifications. The relay pushes only calls to a `voipToken`.")
  private static let timeSensitive = Field<Bool?>.flag(
    "timeSensitive",
    "false: a push at the level `timeSensitive` becomes `active`. `critical` does not depend on it.")
  private static let settings = Field<Fields?>.object(
    "settings",
    ObjectDeclaration(
      "DeviceSettings", "The permissions that the owner of the device gives the app.",
      fields: [alerts, timeSensitive]))
  private static let locale = Field<String?>.text(
    "locale", maxLength: 64, "The language and the region of the device's texts. At most 64 bytes.")
  private static let timeZone = Field<String?>.text(
    "timeZone", maxLength: QuietHours.maxTimeZoneLength,
    """
    The name of the time zone of the device, such as Europe/Berlin, for quiet hours without a `timeZone`. If the relay \
    does not know the name, the reply has a warning.
    """)

  package static let fields: [any DeclaredField] = [
    tokenField, platformField, appField, environment, topic, voipToken, criteria, settings, locale, timeZone,
  ]

  package init(_ fields: Fields, for targets: PushTargets) throws(RequestError) {
    let apps = targets.apps
    let id: DeviceID = try fields.required("device", fields.name("device"))
    if fields.isNull("token") {
      self = .forget(id)
      return
    }
    let platform = try Self.platform(fields, targets)
    let app = try Self.app(fields, platform, in: apps)
    let topic = try Self.topic.value(in: fields)
    if let topic, app?.topics.contains(topic) != true {
      throw fields.wrong("topic", "is not a topic of the app")
    }
    let settings = try Self.settings.value(in: fields) ?? Fields([:])
    self = .register(
      Device(
        id: id, app: try Self.appField.value(in: fields), platform: platform,
        token: try Self.token(fields, platform, targets),
        voipToken: try fields.has("voipToken") && !fields.isNull("voipToken")
          ? Self.token(fields, platform, targets, "voipToken") : nil,
        criteria: try Self.criteria.value(in: fields),
        allowsAlerts: try Self.alerts.value(in: settings) ?? true,
        allowsTimeSensitive: try Self.timeSensitive.value(in: settings) ?? true,
        locale: try Self.locale.value(in: fields), timeZone: try Self.timeZone.value(in: fields),
        environment: try Self.environment.value(in: fields), topic: topic))
  }

  private static func platform(_ fields: Fields, _ targets: PushTargets) throws(RequestError) -> Platform {
    let platform = try Self.platformField.required().value(in: fields)
    guard platform != .simulator || targets.takesSimulators else {
      throw RequestError(
        .unsupported, "simulated phones are not accepted here: the setting simulatedPhones allows them",
        at: "/platform",
        status: 422)
    }
    guard targets.reaches(platform) else {
      throw RequestError(
        .unsupported, "no gateway for \(platform.rawValue) is configured", at: "/platform", status: 422)
    }
    return platform
  }

  /// The configured app of the device. Is `nil` if no apps are configured, or if a simulated device or a browser names
  /// none.
  private static func app(
    _ fields: Fields, _ platform: Platform, in apps: Apps
  ) throws(RequestError) -> App? {
    let given = try Self.appField.value(in: fields)
    guard !apps.isEmpty else { return nil }
    guard let name = given else {
      guard platform == .apns || platform == .http else { return nil }
      throw fields.wrong("app", "is missing")
    }
    guard let app = apps[name] else { throw fields.wrong("app", "is not one of the configured apps") }
    guard platform != .apns || app.credential != nil else { throw fields.wrong("app", "has no Apple credential") }
    guard platform != .http || app.matrix != nil else { throw fields.wrong("app", "has no Matrix gateway") }
    return app
  }
}

extension FilterReport {
  private static let activity = Field<Bool?>.flag(
    "active", "false: no filter is active, and all pushes pass."
  ).required()
  private static let passing = Field<[String]?>.texts(
    "allow", max: maxCriteria, maxLength: maxCriteriaLength,
    "The criteria that the filter lets pass, each of at most 128 bytes. A push without criteria passes every filter.")
  private static let counter = Field<Int64?>.whole(
    "number", "A counter of the device, which orders its reports of filters.")

  package static let fields: [any DeclaredField] = [activity, passing, ReportFields.device, ReportFields.at, counter]

  /// - Parameter device: The device of the session or of the report key. A device in the report takes precedence.
  package init(_ fields: Fields, device: DeviceID?) throws(RequestError) {
    let isActive = try Self.activity.value(in: fields)
    let allow = try Self.passing.value(in: fields)
    self.init(
      device: try ReportFields.device.value(in: fields) ?? device ?? .default, isActive: isActive, allow: allow ?? [],
      at: try ReportFields.at.value(in: fields), number: try Self.counter.value(in: fields))
  }
}

extension Preferences {
  private static let roomsField = FieldDeclaration(
    "rooms", .objects(names: "RoomName", RoomPreference.object),
    """
    Settings of rooms, by name. null removes the settings of a room. Rooms that are not named do not change. At most \
    `limits.roomsPerUser` rooms can have settings.
    """)
  private static let onFocusField = Field<SilenceMode?>.choice(
    "onFocus",
    """
    The behaviour for pushes to a device whose Focus silences it or filters them out. `deliver` (the default): the \
    relay pushes as usual, and the phone decides. `passive`: the relay pushes without a sound. `hold`: the relay pushes \
    later. With `passive` and `hold`, Allowed People do not break through.
    """)
  private static let quietHoursField = Field<Fields?>.object(
    "quietHours", QuietHours.object, "The hours in which pushes are silent or wait. null: none.")
  private static let breakThroughField = Field<Fields?>.object(
    "breakThrough", BreakThrough.object,
    "The messages that break through quiet hours, but not through a Focus. It replaces the earlier value. null: none do."
  )
  private static let quietCallsField = Field<Bool?>.flag(
    "quietCalls",
    """
    true: calls do not break through quiet hours, in both modes. A call that still rings at their end begins to ring on \
    the device. For each other call the device gets one "Missed call", and the caller sees `missed`. A call at the \
    level `critical` always rings.
    """)
  private static let quietTimeSensitiveField = Field<Bool?>.flag(
    "quietTimeSensitive", "true: messages at the level `timeSensitive` do not break through quiet hours.")
  private static let pushUnreadAfterField = Field<Int64?>.whole(
    "pushUnreadAfter", in: pushUnreadTimes,
    """
    The relay pushes a message that an active session has received if the user has not read it this many seconds after \
    the message. null (the default): it does not.
    """)
  private static let shareFocusField = Field<Audience?>.choice(
    "shareFocus",
    """
    The users who see that a Focus is on. `none`: nobody. `rooms` (the default): users who share a room. `watchers`: \
    also users who watch.
    """)
  private static let shareOnlineField = Field<Audience?>.choice(
    "shareOnline", "The users who see whether the user is online. The default is `watchers`.")

  package static let fields: [any DeclaredField] = [
    roomsField, onFocusField, quietHoursField, breakThroughField, quietCallsField, quietTimeSensitiveField,
    pushUnreadAfterField, shareFocusField, shareOnlineField,
  ]

  /// The maximum length of the label of a room or an account, in bytes.
  package static let maxCriteriaLength = FilterReport.maxCriteriaLength

  /// Changes the preferences that the fields contain, and keeps the others.
  ///
  /// An unknown preference is an error, as in `push`: a misspelled one would have no effect, and nobody would notice.
  /// - Parameter zones: The time zones that quiet hours may name.
  package mutating func change(_ fields: Fields, zones: TimeZones, now: Timestamp) throws(RequestError) {
    try fields.checkNames(among: Self.names + ["type", "id"])
    if let rooms = try fields.object("rooms") {
      for name in rooms.members.keys.sorted() {
        guard let room = RoomID(rawValue: name) else { throw rooms.wrong(name, Fields.badName(RoomID.self)) }
        guard let preference = try rooms.object(name) else {
          self[room] = RoomPreference()
          continue
        }
        try self[room].change(preference)
      }
    }
    onFocus = try Self.onFocusField.value(in: fields) ?? onFocus
    shareFocus = try Self.shareFocusField.value(in: fields) ?? shareFocus
    shareOnline = try Self.shareOnlineField.value(in: fields) ?? shareOnline
    if fields.isNull("quietHours") { quietHours = nil }
    if let hours = try Self.quietHoursField.value(in: fields) { quietHours = try QuietHours(hours, zones) }
    if fields.isNull("breakThrough") { breakThrough = BreakThrough() }
    if let wish = try Self.breakThroughField.value(in: fields) { breakThrough = try BreakThrough(wish) }
    quietCalls = try Self.quietCallsField.value(in: fields) ?? quietCalls
    quietTimeSensitive = try Self.quietTimeSensitiveField.value(in: fields) ?? quietTimeSensitive
    if fields.has("pushUnreadAfter") {
      pushUnreadAfter = try Self.pushUnreadAfterField.value(in: fields).map(Int.init)
    }
  }
}

extension RoomPreference {
  private static let levelField = Field<RoomLevel?>.choice(
    "level", "The messages that the relay pushes. A level without `until` has no end.")
  private static let untilField = Field<Timestamp?>.time(
    "until", "The end of the level: from then on, the relay pushes all messages. null: no end.")
  private static let criteriaField = Field<String?>.text(
    "criteria", maxLength: Preferences.maxCriteriaLength,
    "The user's own label of the room, which Focus filters match. At most 128 bytes. null: no label.")

  fileprivate static let object = ObjectDeclaration(
    "RoomWish", isClosed: true, fields: [levelField, untilField, criteriaField])

  fileprivate mutating func change(_ fields: Fields) throws(RequestError) {
    try Self.object.check(fields)
    if let level = try Self.levelField.value(in: fields) {
      self.level = level
      until = nil
    }
    if fields.has("until") { until = try Self.untilField.value(in: fields) }
    if fields.has("criteria") { criteria = try Self.criteriaField.value(in: fields) }
  }
}

extension BreakThrough {
  private static let usersField = Field<[UserID]?>.names(
    "users", max: maxUsers, "The users whose messages break through.")
  private static let mentionsField = Field<Bool?>.flag(
    "mentions", "true: a message breaks through that mentions the user, or answers a message of the user.")

  fileprivate static let object = ObjectDeclaration(
    "BreakThrough", "The messages that break through quiet hours.", isClosed: true,
    fields: [usersField, mentionsField])

  fileprivate init(_ fields: Fields) throws(RequestError) {
    self.init(
      users: try Self.usersField.value(in: fields) ?? [], mentions: try Self.mentionsField.value(in: fields) ?? false)
  }
}

extension QuietHours {
  private static let fromField = Field<TimeOfDay?>.timeOfDay(
    "from", "The time at which quiet hours begin, as `HH:MM`."
  ).required()
  private static let toField = Field<TimeOfDay?>.timeOfDay(
    "to",
    """
    The time at which quiet hours end, as `HH:MM`. A time that is not after `from` is on the next day. If both are \
    equal, quiet hours last a whole day.
    """
  ).required()
  private static let daysField = Field<[Int64]?>.wholes(
    "days", max: allDays.count, in: Int64(allDays.lowerBound)...Int64(allDays.upperBound),
    "The days on which quiet hours begin. 1 is Monday. Absent: every day.")
  private static let timeZoneField = Field<String?>.text(
    "timeZone", maxLength: maxTimeZoneLength,
    """
    An IANA name, such as Europe/Berlin. Absent: each device follows the `timeZone` of its registration. A device \
    without one follows the device of the user that registered last with one. Without any, UTC applies.
    """)
  private static let modeField = Field<SilenceMode?>.choice(
    "mode", among: [.passive, .hold],
    "`passive`: the relay pushes without a sound. `hold`: the relay pushes at their end."
  ).required()

  fileprivate static let object = ObjectDeclaration(
    "QuietHours", "Quiet hours on every device of the user.", isClosed: true,
    fields: [fromField, toField, daysField, timeZoneField, modeField])

  fileprivate init(_ fields: Fields, _ zones: TimeZones) throws(RequestError) {
    self.init(
      from: try Self.fromField.value(in: fields), to: try Self.toField.value(in: fields),
      days: Set(try Self.daysField.value(in: fields)?.map(Int.init) ?? Array(Self.allDays)),
      timeZone: try Self.timeZoneField.value(in: fields), mode: try Self.modeField.value(in: fields))
    guard !days.isEmpty else { throw fields.wrong("days", "must name a day, 1 (Monday) to 7") }
    if let timeZone, !zones.knows(timeZone) {
      throw fields.wrong("timeZone", "is not a time zone, such as Europe/Berlin")
    }
  }
}
