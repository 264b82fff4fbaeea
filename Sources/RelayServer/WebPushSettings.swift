// SPDX-License-Identifier: Apache-2.0
import Configuration
import RelayCore
import RelayGateways
import RelayIdentity

/// What an operator sets for pushes to browsers.
struct WebPushSettings: Equatable, Sendable {
  /// Where the private key lies; nil: browsers are not pushed to.
  var keyFile: String?
  var subject: String?
  /// Whose subscriptions are accepted.
  var services = PushServices()
  var service = WebPushService()

  init() {}

  init(_ config: ConfigReader) throws(StartupError) {
    keyFile = config.string(forKey: "webPush.keyFile")
    subject = config.string(forKey: "webPush.subject")
    service.caFile = config.string(forKey: "webPush.caFile")
    for text in config.string(forKey: "webPush.origins")?.split(separator: " ").map(String.init) ?? [] {
      guard services.allow(text) else {
        throw StartupError("webPush.origins: \(text) is no host like push.example.org or push.example.org:8443")
      }
    }
    for text in config.string(forKey: "webPush.allowedAddresses")?.split(separator: " ").map(String.init) ?? [] {
      guard let range = AddressRange(text) else {
        throw StartupError("webPush.allowedAddresses: \(text) is no address or network like 10.0.0.0/8")
      }
      service.allowedAddresses.append(range)
    }
  }

  /// nil: there is none. Throws ``StartupError``.
  func readKey() throws(StartupError) -> VAPIDKey? {
    guard let keyFile else {
      guard subject == nil else { throw StartupError("webPush.keyFile is missing; stillwire vapid makes one") }
      return nil
    }
    guard let subject else {
      throw StartupError("webPush.subject is missing: mailto: and an address at which push services reach you")
    }
    let file = try PrivateFile(keyFile, at: "webPush.keyFile")
    do {
      return try VAPIDKey(pem: file.text, subject: subject)
    } catch {
      throw StartupError(
        error.isOfSubject ? "webPush.subject \(error.words)" : "webPush.keyFile: \(keyFile) \(error.words)")
    }
  }
}
