// SPDX-License-Identifier: Apache-2.0
import RelayDelivery
import RelayGateways
import RelayIdentity
import RelayProtocol
import RelayPush
import RelayRequests
import RelayState
import RelayStore

// Declares the keys of rooms, apps, texts and push services.

/// The settings of rooms, apps and push services. Only one of them has an option.
extension SettingGroup {
  package static let rooms = SettingGroup(
    "Rooms",
    note: """
      The first pattern that matches the name of a room applies. The relay adds two patterns after yours: rooms of
      `live.*` keep no messages, and all other rooms have the defaults of the table. Do not add a pattern `*`
      without a pattern `live.*` before it: rooms `live.*` would then store messages.

      In the file, `"rooms.invitations": "none"` is a key beside the list `rooms`.
      """,
    [
      Setting(
        "rooms", .objects(roomMembers) { list throws(RequestError) in try RoomPatterns(list) }, \.rooms,
        "Policies of rooms, each with a pattern for the names of the rooms."),
      Setting(
        "rooms.invitations", .choice, \.invitations,
        "People whom a user invites into a room instead of making them members at once: everybody, people who share no "
          + "room with the user, or nobody. Backends invite nobody."),
    ])

  static let apps = SettingGroup(
    "Apps and texts",
    [
      Setting(
        "apps", .objects(appMembers) { list throws(RequestError) in try Apps(list) }, \.apps,
        "Apps with which devices may register. If the list is empty, devices may register with any app."),
      Setting(
        "texts", .objects(textMembers) { list throws(RequestError) in try PushTextTable(list) }, \.pushTexts,
        "The relay's own texts in pushes, by language. Without a text here, the phone shows the app's translation."),
    ])

  static let apple = SettingGroup(
    "Apple's push service", hasOptions: false,
    [
      Setting(
        "apple.host", .text, \.apple.host, default: "Apple's own", needsRestart: true,
        "Host to connect to, for both environments."),
      Setting("apple.port", .whole(1...65_535), \.apple.port, needsRestart: true, "Port to connect to."),
      Setting(
        "apple.caFile", .file, \.apple.caFile, default: systemCertificates, needsRestart: true, trustedCertificates),
      Setting(
        "apple.connections", .whole(1...64), \.apple.connections, needsRestart: true,
        "Maximum number of connections for each key and environment."),
    ])

  static let webPush = SettingGroup(
    "Push services of browsers", hasOptions: false,
    [
      Setting(
        "webPush.keyFile", .file, \.webPush.keyFile,
        "File with the private key, which `stillwire vapid` creates. Without it, the relay does not push to browsers."),
      Setting(
        "webPush.subject", .text, \.webPush.subject,
        "Contact of the operator for push services: a `mailto:` or `https:` URL. Required with `webPush.keyFile`."),
      Setting(
        "webPush.origins", .pushServices, \.webPush.services,
        "Push services whose subscriptions the relay accepts, in addition to those of Chrome, Safari, Edge and "
          + "Firefox: `push.example.org` or `push.example.org:8443`."),
      Setting(
        "webPush.caFile", .file, \.webPush.service.caFile, default: systemCertificates, needsRestart: true,
        trustedCertificates),
      Setting(
        "webPush.allowedAddresses", .list(of: networkNoun, { AddressRange($0) }, text: { "\($0)" }),
        \.webPush.service.allowedAddresses, needsRestart: true,
        "Non-public addresses and networks of push services to which the relay may connect."),
    ])

  private static func bounds(_ range: ClosedRange<Int64>) -> ClosedRange<Double> {
    Double(range.lowerBound)...Double(range.upperBound)
  }

  private static let systemCertificates = "the system's"
  private static let trustedCertificates = "File with the certificates, as PEM, that the relay trusts."

  private static let roomMembers = {
    let standard = RoomPatterns().policy(for: RoomID(unchecked: "any"))
    return [
      SettingMember("match", .text, default: "required", "Pattern of names, in which `*` matches any text."),
      SettingMember(
        "history.count", .number(bounds(RoomPolicy.counts)), default: "\(standard.history.count)",
        "Number of messages that the room keeps. With 0, the room does not use the database: it sends no pushes, and a "
          + "membership ends with the connection."),
      SettingMember(
        "history.age", .number(bounds(RoomPolicy.ages), .seconds),
        default: standard.history.age.map { Limits.Unit.seconds.text($0.seconds) } ?? "none",
        "Time for which the room keeps a message. 0 means no limit."),
      SettingMember(
        "history.minimum", .number(bounds(RoomPolicy.counts)), default: "\(standard.history.minimum)",
        "Number of newest messages that the room keeps although they are older than `history.age`."),
      SettingMember(
        "push", .flag, default: "true if the room keeps messages", "The relay pushes to members who are away."),
      SettingMember(
        "preview", .choice(RoomPolicy.Preview.self),
        default: (standard.hasPreview ? RoomPolicy.Preview.text : .none).rawValue,
        "With `none`, a push contains ids, names and text keys, but no text of the message. Quotes in replies then have "
          + "no text, either."),
      SettingMember("receipts", .flag, default: "false", "Members see which members have received and read a message."),
      SettingMember(
        "memberList", .number(bounds(RoomPolicy.memberLists)), default: "`limits.memberList`",
        "Number of members above which clients get counts instead of the list of members."),
      SettingMember(
        "members", .number(bounds(RoomPolicy.memberCounts)), default: "`limits.membersPerRoom`",
        "Maximum number of members."),
      SettingMember(
        "can", .texts,
        default: "all but `moderate` and `mentionAll`; with tokens, for members only, and not `urgent`",
        "Rights of users whose tokens have no claim `rooms`: "
          + Rights.named.map { "`\($0.name)`" }.joined(separator: ", ") + "."),
    ]
  }()

  private static let appMembers = [
    SettingMember("app", .text, default: "required", "Name of the app in the registration of a device: the bundle id."),
    SettingMember("topics", .texts, default: "the value of `app`", "Bundle ids of the app."),
    SettingMember(
      "environment", .choice(PushEnvironment.self), default: PushEnvironment.production.rawValue,
      "Environment of Apple's push service that the relay tries first for a device without one."),
    SettingMember(
      "entitlements", .texts,
      "Entitlements of the app: " + AppEntitlement.allCases.map { "`\($0.rawValue)`" }.joined(separator: ", ")
        + ". Without the entitlement for a level, the relay uses a lower level."),
    SettingMember(
      "credential.keyFile", .file, default: "required in `credential`",
      "File with the key from Apple, as PEM. Without `credential`, the relay simulates the app's devices."),
    SettingMember("credential.keyID", .text, default: "required in `credential`", "Id of the key."),
    SettingMember("credential.team", .text, default: "required in `credential`", "Id of the team at Apple."),
    SettingMember(
      "matrix.url", .text, default: "required in `matrix`", "URL of a Matrix gateway for the platform `http`."),
    SettingMember("matrix.secretFile", .file, "File with the secret that signs pushes to this gateway."),
    SettingMember("ringtone", .text, "Sound file in the app, for calls that arrive as alerts."),
  ]

  private static let textMembers =
    [SettingMember("language", .text, default: "required", "Language tag, such as `pt-BR`.")]
    + PushTextKey.allCases.map { key in
      SettingMember(
        key.field, .text, default: "the app's translation",
        "Text for “\(key.rawValue)”. Maximum number of placeholders (`%@`): \(key.argumentCount).")
    }
}

extension SettingType where Value == PushServices {
  fileprivate static var pushServices: Self {
    Self(.texts, text: { _ in "" }) { text, key throws(StartupError) in
      var services = PushServices()
      for item in text.split(separator: " ") where !services.allow(String(item)) {
        throw StartupError("\(key): \(item) is not a host, such as push.example.org or push.example.org:8443")
      }
      return services
    }
  }
}
