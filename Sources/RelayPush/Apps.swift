// SPDX-License-Identifier: Apache-2.0
package import RelayDelivery
package import RelayGateways
package import RelayJSON
package import RelayProtocol

/// The configured apps that devices may belong to: `apps` of the configuration file.
package struct Apps: Equatable, Sendable {
  package private(set) var list: [App] = []
  package private(set) var entitlements = AppEntitlements()

  package static let maxCount = 100

  package init() {}

  /// Throws an error that names the position of the wrong value.
  package init(_ list: [Fields]) throws(RequestError) {
    guard list.count <= Self.maxCount else {
      throw RequestError(.badRequest, "apps must be at most \(Self.maxCount)", at: "/apps")
    }
    for fields in list {
      let app = try App(fields)
      guard self[app.name] == nil else { throw fields.wrong("app", "is already the name of another app") }
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

  /// True if no apps are configured. Then a device may name any app.
  package var isEmpty: Bool { list.isEmpty }

  package subscript(name: String) -> App? { list.first { $0.name == name } }

  package func ringtone(of device: Device) -> String? { device.app.flatMap { self[$0] }?.ringtone }
}

/// An app on the devices of users.
package struct App: Equatable, Sendable {
  /// The name by which devices register: the bundle id.
  package var name: String
  /// The bundle ids, never empty.
  package var topics: [String]
  /// The credential for Apple's service. Is `nil` if the devices of the app are simulated.
  package var credential: AppleCredential?
  /// The Matrix gateway of devices of the platform `http`. Is `nil` if there is none.
  package var matrix: MatrixEndpoint?
  /// The service that is tried first with the token of a device that names none.
  package var environment = PushEnvironment.production
  package var entitlements: Set<AppEntitlement> = []
  /// The sound file in the app that rings for a call without a sound of its own. Is `nil` when the app has none.
  package var ringtone: String?
  /// The JSON pointer of the app in the configuration.
  package var pointer = ""

  package static let maxNameLength = 255
  package static let maxTopics = 16
}

/// The key for Apple's service.
package struct AppleCredential: Equatable, Sendable {
  package var keyFile: String
  package var keyID: String
  package var team: String
}

/// The Matrix gateway of an app.
package struct MatrixEndpoint: Equatable, Sendable {
  package var endpoint: HTTPEndpoint
  /// The file with the secret that signs pushes. Is `nil` if pushes are not signed.
  package var secretFile: String?
}

extension App {
  fileprivate init(_ fields: Fields) throws(RequestError) {
    pointer = fields.pointer
    name = try fields.required("app", fields.string("app", maxLength: Self.maxNameLength))
    guard !name.isEmpty else { throw fields.wrong("app", "must not be empty") }
    topics = try fields.strings("topics", max: Self.maxTopics, maxLength: Self.maxNameLength) ?? [name]
    guard !topics.isEmpty else { throw fields.wrong("topics", "must not be empty") }
    environment = try fields.choice("environment") ?? environment
    for (index, text) in (try fields.strings("entitlements", max: 16, maxLength: 64) ?? []).enumerated() {
      guard let entitlement = AppEntitlement(rawValue: text) else {
        let known = AppEntitlement.allCases.map(\.rawValue).joined(separator: ", ")
        throw fields.wrong("entitlements/\(index)", "must be one of \(known)")
      }
      entitlements.insert(entitlement)
    }
    ringtone = try fields.string("ringtone", maxLength: PushStyle.maxSoundLength)
    // JSON needs no escape for these characters. The size check of a push does not know the app, and counts one byte
    // for each character of the longest ringtone.
    if let ringtone,
      ringtone.isEmpty || !ringtone.utf8.allSatisfy({ (0x20...0x7e).contains($0) && !#""\"#.utf8.contains($0) })
    {
      throw fields.wrong("ringtone", "must be the name of a sound file, in printable ASCII")
    }
    if let object = try fields.object("credential") { credential = try AppleCredential(object) }
    if let object = try fields.object("matrix") { matrix = try MatrixEndpoint(object) }
  }
}

extension MatrixEndpoint {
  fileprivate init(_ fields: Fields) throws(RequestError) {
    let url = try fields.required("url", fields.string("url", maxLength: 2048))
    guard let endpoint = HTTPEndpoint(url) else {
      throw fields.wrong("url", "must be an http or https URL without a user")
    }
    self.endpoint = endpoint
    secretFile = try fields.string("secretFile", maxLength: 4096)
  }
}

extension AppleCredential {
  fileprivate init(_ fields: Fields) throws(RequestError) {
    keyFile = try fields.required("keyFile", fields.string("keyFile", maxLength: 4096))
    keyID = try fields.required("keyID", fields.string("keyID", maxLength: 256))
    team = try fields.required("team", fields.string("team", maxLength: 256))
  }
}
