// SPDX-License-Identifier: Apache-2.0
import RelayGateways
import RelayIdentity

/// The settings of pushes to browsers.
struct WebPushSettings: Equatable, Sendable {
  /// The file with the private key. Is `nil` if the relay does not push to browsers.
  var keyFile: String?
  /// The contact of the operator for push services: a `mailto:` or `https:` URL.
  var subject: String?
  /// The push services whose subscriptions the relay accepts.
  var services = PushServices()
  var service = WebPushService()

  /// Reads the key. Returns `nil` if none is configured. Throws ``StartupError``.
  func readKey() throws(StartupError) -> VAPIDKey? {
    guard let keyFile else {
      guard subject == nil else { throw StartupError("webPush.keyFile is missing; stillwire vapid creates the file") }
      return nil
    }
    guard let subject else {
      throw StartupError("webPush.subject is missing: a mailto: or https: URL at which push services can contact you")
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
