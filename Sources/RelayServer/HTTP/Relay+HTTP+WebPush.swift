// SPDX-License-Identifier: Apache-2.0
import RelayGateways
import RelayHub
import RelayJSON
import RelayProtocol

/// What a page needs to subscribe to pushes.
extension Relay {
  static let webPushRoutes = [
    Route("/v1/webpush", .open("GET") { relay, _ in .webPush(relay.settings.webPushKey) })
  ]
}

extension HTTPResponse {
  /// A page that asks is not at fault where browsers are not pushed to, so the key is null then.
  fileprivate static func webPush(_ key: VAPIDKey?) -> HTTPResponse {
    .json(200) {
      if let key { $0["publicKey"] = key.publicKey } else { $0.raw("publicKey", "null".utf8) }
    }
  }
}
