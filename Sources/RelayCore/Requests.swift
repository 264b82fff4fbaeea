// SPDX-License-Identifier: Apache-2.0
package import RelayDelivery
import RelayIdentity
package import RelayJSON
package import RelayProtocol
import RelayPush

/// Parses the fields of requests, with their types and bounds.

extension Fields {
  /// The member `after` of `join`.
  package var position: Position? {
    get throws(RequestError) {
      guard let after = try object("after") else { return nil }
      return Position(
        epoch: try after.required("epoch", after.string("epoch", maxLength: Position.maxEpochLength)),
        seq: try after.required("seq", after.integer("seq", 0...maxInteger)))
    }
  }

  /// The user of a `hello` in open mode.
  var openUser: User {
    get throws(RequestError) {
      try profile(of: required("user", name("user")), hasAddress: false)
    }
  }
}

/// The members of `hello` beside the identity.
struct HelloDetails {
  package let device: DeviceID?
  package let acks: Bool
  package let activity: Activity
  /// Is `nil` if the session gets no events of the list of rooms.
  package let inbox: Inbox.Options?

  init(_ fields: Fields) throws(RequestError) {
    device = try fields.name("device")
    acks = try fields.bool("acks") ?? false
    activity = try fields.choice("activity") ?? .active
    inbox = try Inbox.Options(hello: fields)
    _ = try fields.string("app", maxLength: 255)
    let client = try fields.object("client")
    _ = try client?.string("name", maxLength: 255)
    _ = try client?.string("version", maxLength: 255)
  }
}

extension FocusReport {
  /// - Parameter device: The device of the session or of the report key. A device in the report takes precedence.
  package init(_ fields: Fields, device: DeviceID?) throws(RequestError) {
    guard fields.has("isFocused") else { throw fields.wrong("isFocused", "is missing") }
    self.init(
      device: try fields.name("device") ?? device ?? .default, isFocused: try fields.bool("isFocused"),
      authorization: try fields.choice("authorization") ?? .authorized,
      at: try fields.integer("at", 0...maxInteger).map(Timestamp.init(rawValue:)),
      number: try fields.integer("number", 0...maxInteger), source: try fields.choice("source"))
  }
}

/// A request about a device: register it for pushes, or forget it.
enum DeviceRequest {
  case register(Device)
  case forget(DeviceID)

  init(_ fields: Fields, for targets: PushTargets) throws(RequestError) {
    let apps = targets.apps
    let id: DeviceID = try fields.required("device", fields.name("device"))
    if fields.isNull("token") {
      self = .forget(id)
      return
    }
    let platform = try Self.platform(fields, targets)
    let app = try Self.app(fields, platform, in: apps)
    let topic = try fields.string("topic", maxLength: App.maxNameLength)
    if let topic, app?.topics.contains(topic) != true {
      throw fields.wrong("topic", "is not a topic of the app")
    }
    let settings = try fields.object("settings")
    self = .register(
      Device(
        id: id, app: try fields.string("app", maxLength: App.maxNameLength), platform: platform,
        token: try Self.token(fields, platform, targets),
        voipToken: try fields.has("voipToken") && !fields.isNull("voipToken")
          ? Self.token(fields, platform, targets, "voipToken") : nil,
        criteria: try fields.string("criteria", maxLength: FilterReport.maxCriteriaLength),
        allowsAlerts: try settings?.bool("alerts") ?? true,
        allowsTimeSensitive: try settings?.bool("timeSensitive") ?? true,
        locale: try fields.string("locale", maxLength: 64),
        timeZone: try fields.string("timeZone", maxLength: QuietHours.maxTimeZoneLength),
        environment: try fields.choice("environment"), topic: topic))
  }

  private static func platform(_ fields: Fields, _ targets: PushTargets) throws(RequestError) -> Platform {
    let given: Platform? = try fields.choice("platform")
    let platform = try fields.required("platform", given)
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
    let given = try fields.string("app", maxLength: App.maxNameLength)
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
  /// - Parameter device: The device of the session or of the report key. A device in the report takes precedence.
  package init(_ fields: Fields, device: DeviceID?) throws(RequestError) {
    let isActive = try fields.required("active", fields.bool("active"))
    let allow = try fields.strings("allow", max: Self.maxCriteria, maxLength: Self.maxCriteriaLength)
    self.init(
      device: try fields.name("device") ?? device ?? .default, isActive: isActive, allow: allow ?? [],
      at: try fields.integer("at", 0...maxInteger).map(Timestamp.init(rawValue:)),
      number: try fields.integer("number", 0...maxInteger))
  }
}

extension Preferences {
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
    onFocus = try fields.choice("onFocus") ?? onFocus
    shareFocus = try fields.choice("shareFocus") ?? shareFocus
    shareOnline = try fields.choice("shareOnline") ?? shareOnline
    if fields.isNull("quietHours") { quietHours = nil }
    if let hours = try fields.object("quietHours") { quietHours = try QuietHours(hours, zones) }
    if fields.isNull("breakThrough") { breakThrough = BreakThrough() }
    if let wish = try fields.object("breakThrough") { breakThrough = try BreakThrough(wish) }
    quietCalls = try fields.bool("quietCalls") ?? quietCalls
    quietTimeSensitive = try fields.bool("quietTimeSensitive") ?? quietTimeSensitive
    if fields.has("pushUnreadAfter") {
      pushUnreadAfter = try fields.integer("pushUnreadAfter", Self.pushUnreadTimes).map(Int.init)
    }
  }
}

extension RoomPreference {
  fileprivate mutating func change(_ fields: Fields) throws(RequestError) {
    try fields.checkNames(among: ["level", "until", "criteria"])
    if let level: RoomLevel = try fields.choice("level") {
      self.level = level
      until = nil
    }
    if fields.has("until") { until = try fields.integer("until", 0...maxInteger).map(Timestamp.init(rawValue:)) }
    if fields.has("criteria") { criteria = try fields.string("criteria", maxLength: Preferences.maxCriteriaLength) }
  }
}

extension BreakThrough {
  fileprivate init(_ fields: Fields) throws(RequestError) {
    try fields.checkNames(among: ["users", "mentions"])
    self.init(
      users: try fields.names("users", max: Self.maxUsers) ?? [], mentions: try fields.bool("mentions") ?? false)
  }
}

extension QuietHours {
  fileprivate init(_ fields: Fields, _ zones: TimeZones) throws(RequestError) {
    try fields.checkNames(among: ["from", "to", "days", "timeZone", "mode"])
    self.init(
      from: try Self.time("from", fields), to: try Self.time("to", fields), days: try Self.days(fields),
      timeZone: try fields.string("timeZone", maxLength: Self.maxTimeZoneLength),
      mode: try fields.required("mode", fields.choice("mode")))
    if let timeZone, !zones.knows(timeZone) {
      throw fields.wrong("timeZone", "is not a time zone, such as Europe/Berlin")
    }
    guard mode != .deliver else { throw fields.wrong("mode", "must be one of passive, hold") }
  }

  private static func time(_ key: String, _ fields: Fields) throws(RequestError) -> TimeOfDay {
    let text = try fields.required(key, fields.string(key, maxLength: 5))
    guard let time = TimeOfDay(text) else { throw fields.wrong(key, "must be a time of day, 00:00 to 23:59") }
    return time
  }

  private static func days(_ fields: Fields) throws(RequestError) -> Set<Int> {
    guard let days = try fields.integers("days", max: 7, 1...7) else { return Set(1...7) }
    guard !days.isEmpty else { throw fields.wrong("days", "must name a day, 1 (Monday) to 7") }
    return Set(days.map(Int.init))
  }
}
