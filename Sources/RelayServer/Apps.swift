// SPDX-License-Identifier: Apache-2.0
import RelayDelivery
import RelayGateways
import RelayJSON
import RelayProtocol

/// The apps that devices may belong to.
struct Apps: Equatable, Sendable {
  private(set) var list: [App] = []
  private(set) var entitlements = AppEntitlements()

  static let most = 100

  init() {}

  /// Throws the place of what is wrong.
  init(_ list: [Fields]) throws(RequestError) {
    guard list.count <= Self.most else {
      throw RequestError(.badRequest, "apps must be at most \(Self.most)", at: "/apps")
    }
    for fields in list {
      let app = try App(fields)
      guard self[app.name] == nil else { throw fields.wrong("app", "is an app before this one") }
      for (index, topic) in app.topics.enumerated() {
        if let other = self.list.first(where: { $0.topics.contains(topic) }) {
          throw fields.wrong(
            fields.has("topics") ? "topics/\(index)" : "app", "is a topic of \(other.name) already")
        }
      }
      self.list.append(app)
    }
    entitlements = AppEntitlements(
      Dictionary(uniqueKeysWithValues: self.list.map { ($0.name, $0.entitlements) }))
  }

  /// Any app goes.
  var isEmpty: Bool { list.isEmpty }

  subscript(name: String) -> App? { list.first { $0.name == name } }

  func ringtone(of device: Device) -> String? { device.app.flatMap { self[$0] }?.ringtone }

  /// What an app may say in a configuration file.
  static let keys: [String: ConfigurationKey] = [
    "app": .text, "topics": .texts, "environment": .text, "entitlements": .texts, "credential.keyFile": .path,
    "credential.keyID": .text, "credential.team": .text, "gateway.url": .text, "gateway.secretFile": .path,
    "ringtone": .text,
  ]
}

/// An app on the devices of users.
struct App: Equatable, Sendable {
  /// As devices name it: its bundle id.
  var name: String
  /// Its bundle ids, never empty.
  var topics: [String]
  /// With which it is pushed to by Apple; nil: its devices are simulated.
  var credential: AppleCredential?
  /// Through which its devices of the platform `http` are pushed to; nil: there are none.
  var gateway: GatewayPlace?
  /// The service that is tried first with the token of a device that names none.
  var environment = PushEnvironment.production
  var entitlements: Set<AppEntitlement> = []
  /// The sound file in the app that rings for a call without a sound of its own. Is `nil` when the app has none.
  var ringtone: String?
  /// Where it stands in the configuration.
  var place = ""

  static let longestName = 255
  static let mostTopics = 16
}

/// Where the key of an app lies.
struct AppleCredential: Equatable, Sendable {
  var keyFile: String
  var keyID: String
  var team: String
}

/// Where the push gateway of an app is.
struct GatewayPlace: Equatable, Sendable {
  var place: HTTPGatewayApp.Place
  /// What is sent is signed with what this file holds; nil: nothing is signed.
  var secretFile: String?
}

extension App {
  fileprivate init(_ fields: Fields) throws(RequestError) {
    place = fields.place
    name = try fields.required("app", fields.string("app", longest: Self.longestName))
    guard !name.isEmpty else { throw fields.wrong("app", "must not be empty") }
    topics = try fields.strings("topics", most: Self.mostTopics, longest: Self.longestName) ?? [name]
    guard !topics.isEmpty else { throw fields.wrong("topics", "must not be empty") }
    environment = try fields.choice("environment") ?? environment
    for (index, text) in (try fields.strings("entitlements", most: 16, longest: 64) ?? []).enumerated() {
      guard let entitlement = AppEntitlement(rawValue: text) else {
        let known = AppEntitlement.allCases.map(\.rawValue).joined(separator: ", ")
        throw fields.wrong("entitlements/\(index)", "must be one of \(known)")
      }
      entitlements.insert(entitlement)
    }
    ringtone = try fields.string("ringtone", longest: PushManner.longestSound)
    // Nothing of it is escaped in JSON: the size of a push is checked before the app is known.
    if let ringtone,
      ringtone.isEmpty || !ringtone.utf8.allSatisfy({ (0x20...0x7e).contains($0) && !#""\"#.utf8.contains($0) })
    {
      throw fields.wrong("ringtone", "must be the name of a sound file, in printable ASCII")
    }
    if let told = try fields.object("credential") { credential = try AppleCredential(told) }
    if let told = try fields.object("gateway") { gateway = try GatewayPlace(told) }
  }
}

extension GatewayPlace {
  fileprivate init(_ fields: Fields) throws(RequestError) {
    let url = try fields.required("url", fields.string("url", longest: 2048))
    guard let place = HTTPGatewayApp.Place(url) else {
      throw fields.wrong("url", "must be an http or https URL without a user")
    }
    self.place = place
    secretFile = try fields.string("secretFile", longest: 4096)
  }
}

extension AppleCredential {
  fileprivate init(_ fields: Fields) throws(RequestError) {
    keyFile = try fields.required("keyFile", fields.string("keyFile", longest: 4096))
    keyID = try fields.required("keyID", fields.string("keyID", longest: 256))
    team = try fields.required("team", fields.string("team", longest: 256))
  }
}
