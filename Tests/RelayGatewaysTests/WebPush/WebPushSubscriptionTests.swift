// SPDX-License-Identifier: Apache-2.0
import Crypto
import Foundation
import RelayProtocol
import Testing

@testable import RelayGateways

@Suite struct WebPushSubscriptionTests {
  private let publicKey = P256.KeyAgreement.PrivateKey().publicKey.x963Representation.base64URL
  private let authentication = Data.random(16).base64URL

  private func subscription(
    _ endpoint: String = "https://fcm.googleapis.com/fcm/send/abc", publicKey: String? = nil,
    authentication: String? = nil, services: PushServices = PushServices()
  ) throws(WebPushSubscription.Fault) -> WebPushSubscription {
    try WebPushSubscription(
      endpoint: endpoint, publicKey: publicKey ?? self.publicKey,
      authentication: authentication ?? self.authentication, services: services)
  }

  @Test(arguments: [
    ("https://fcm.googleapis.com/fcm/send/a:b-c_d", "https://fcm.googleapis.com", "/fcm/send/a:b-c_d"),
    ("https://web.push.apple.com/QGx?y=1&z", "https://web.push.apple.com", "/QGx?y=1&z"),
    ("https://WNS2-pn1p.Notify.Windows.com/w/?token=B%2b", "https://wns2-pn1p.notify.windows.com", "/w/?token=B%2b"),
    (
      "https://updates.push.services.mozilla.com:443/wpush/v2/g", "https://updates.push.services.mozilla.com",
      "/wpush/v2/g"
    ),
    ("https://googleapis.com", "https://googleapis.com", "/"),
    ("https://googleapis.com?x", "https://googleapis.com", "/?x"),
  ])
  func `an endpoint's origin and path are parsed`(_ endpoint: String, _ origin: String, _ path: String) throws {
    let subscription = try subscription(endpoint)
    #expect(subscription.destination.origin == origin && subscription.path == path)
    #expect(subscription.destination.port == 443 && subscription.destination.isSecure)
  }

  @Test(arguments: [
    ("", "must begin with https://"),
    ("http://fcm.googleapis.com/a", "must begin with https://"),
    ("HTTPS://fcm.googleapis.com/a", "must begin with https://"),
    ("wss://fcm.googleapis.com/a", "must begin with https://"),
    ("https://u@fcm.googleapis.com/a", "must not name a user"),
    ("https://u:p@fcm.googleapis.com/a", "must not name a user"),
    ("https://fcm.googleapis.com@127.0.0.1/a", "must not name a user"),
    ("https:///a", "must name a host, not an IP address"),
    ("https://127.0.0.1/a", "must name a host, not an IP address"),
    ("https://2130706433/a", "must name a host, not an IP address"),
    ("https://0x7f.1/a", "must name a host, not an IP address"),
    ("https://0x7f000001/a", "must name a host, not an IP address"),
    ("https://[::1]/a", "must name a host, not an IP address"),
    ("https://a.0x7f/a", "must name a host, not an IP address"),
    ("https://fcm.googleapis.com./a", "must name a host, not an IP address"),
    ("https://fcm..googleapis.com/a", "must name a host, not an IP address"),
    ("https://-a.googleapis.com/a", "must name a host, not an IP address"),
    ("https://%66cm.googleapis.com/a", "must name a host, not an IP address"),
    ("https://localhost/a", "is not the endpoint of an allowed push service"),
    ("https://googleapis.com.example.org/a", "is not the endpoint of an allowed push service"),
    ("https://evilgoogleapis.com/a", "is not the endpoint of an allowed push service"),
    ("https://example.org/?fcm.googleapis.com", "is not the endpoint of an allowed push service"),
    ("https://fcm.googleapis.com:8443/a", "has a port that is not allowed"),
    ("https://fcm.googleapis.com:/a", "has a port that is not allowed"),
    ("https://fcm.googleapis.com:443:443/a", "has a port that is not allowed"),
    ("https://fcm.googleapis.com:65979/a", "has a port that is not allowed"),
    ("https://fcm.googleapis.com/a#b", "has a character that is not allowed"),
    ("https://fcm.googleapis.com/a b", "has a character that is not allowed"),
    ("https://fcm.googleapis.com/a\r\nX: y", "has a character that is not allowed"),
    ("https://fcm.googleapis.com\\@127.0.0.1/", "has a character that is not allowed"),
    ("https://fcm.googleapis.com/\u{e4}", "has a character that is not allowed"),
    ("https://fcm.googleapis.com/" + String(repeating: "a", count: 2048), "must be at most 2048 bytes long"),
  ])
  func `an endpoint that is not allowed is refused with a reason`(_ endpoint: String, _ words: String) {
    #expect(throws: WebPushSubscription.Fault(member: .endpoint, words: words)) { try subscription(endpoint) }
  }

  @Test func `other services can be allowed, with their own port`() throws {
    var services = PushServices()
    #expect(services.allow("push.example.org") && services.allow("localhost:8443"))
    #expect(throws: Never.self) { try subscription("https://a.push.example.org/x", services: services) }
    let local = try subscription("https://localhost:8443/x", services: services)
    #expect(local.destination.origin == "https://localhost:8443")
    #expect(throws: WebPushSubscription.Fault.self) { try subscription("https://localhost/x", services: services) }
    #expect(throws: WebPushSubscription.Fault.self) {
      try subscription("https://push.example.org:8443/x", services: services)
    }
  }

  @Test(arguments: [
    "", "https://example.org", "example.org/", "*.example.org", "127.0.0.1", "[::1]", "example.org:", "example.org:0",
    "example.org:65536", "Example.org", ".example.org", "example..org",
  ])
  func `a text that is not a host name cannot be allowed`(_ text: String) {
    var services = PushServices()
    #expect(!services.allow(text) && services == PushServices())
  }

  @Test(arguments: ["", "AAAA", "no key at all!", "BP4z9KsN6nGRTbVYI_c7VJSPQTBtkgcy27mlmlMoZIIg"])
  func `an invalid public key is refused`(_ text: String) {
    let fault = WebPushSubscription.Fault(
      member: .publicKey, words: "must be a point of P-256: 65 bytes in base64url")
    #expect(throws: fault) { try subscription(publicKey: text) }
  }

  @Test(arguments: ["", "AAAA", "BTBZMqHH6r4Tts7J_aSIg", "BTBZMqHH6r4Tts7J/aSIgg", "BTBZMqHH6r4Tts7J_aSIggAA"])
  func `an invalid secret is refused`(_ text: String) {
    let fault = WebPushSubscription.Fault(member: .authentication, words: "must be 16 bytes in base64url")
    #expect(throws: fault) { try subscription(authentication: text) }
  }

  @Test func `a stored subscription can be parsed, with or without padding`() throws {
    let first = try subscription()
    let padded = try subscription(publicKey: publicKey + "=", authentication: authentication + "==")
    #expect(padded.token == first.token)
    let read = try #require(WebPushSubscription(token: first.token, services: PushServices()))
    #expect(read.token == first.token && read.destination == first.destination && read.path == first.path)
  }

  @Test func `a subscription at a service that is no longer allowed is refused`() throws {
    var services = PushServices()
    _ = services.allow("push.example.org")
    let token = try subscription("https://push.example.org/a", services: services).token
    #expect(WebPushSubscription(token: token, services: services) != nil)
    #expect(WebPushSubscription(token: token, services: PushServices()) == nil)
  }

  @Test(arguments: ["", "{}", "[]", "phone", #"{"endpoint":"https://fcm.googleapis.com/a"}"#])
  func `a token that is not a subscription is refused`(_ token: String) {
    #expect(WebPushSubscription(token: token, services: PushServices()) == nil)
  }
}
