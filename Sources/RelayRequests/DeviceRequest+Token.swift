// SPDX-License-Identifier: Apache-2.0
import RelayGateways
package import RelayJSON
package import RelayProtocol
import RelayPush

extension DeviceRequest {
  /// The maximum length in bytes. The Matrix "Push Gateway API" allows no longer token.
  private static let maxTokenLength = 512

  /// Parses the token by which the gateway of a platform addresses the device.
  package static func token(
    _ fields: Fields, _ platform: Platform, _ targets: PushTargets, _ key: String = "token"
  ) throws(RequestError) -> String {
    switch platform {
    case .simulator:
      // Tokens of the simulated gateway are parts of paths, so they may contain only the characters that names may
      // contain.
      let token: DeviceID = try fields.required(key, fields.name(key))
      return token.rawValue
    case .apns: return try appleToken(fields, key)
    case .http:
      let token = try fields.required(key, fields.string(key, maxLength: maxTokenLength))
      guard !token.isEmpty else { throw fields.wrong(key, "must not be empty") }
      return token
    case .webpush: return try subscription(fields, key, targets.services ?? PushServices()).token
    }
  }

  /// Apple's tokens are bytes of no specified length. Requests to Apple contain them as hexadecimal digits in the path.
  private static func appleToken(_ fields: Fields, _ key: String) throws(RequestError) -> String {
    let token = try fields.required(key, fields.string(key, maxLength: maxTokenLength)).lowercased()
    guard !token.isEmpty, token.utf8.count.isMultiple(of: 2),
      token.utf8.allSatisfy({ (48...57).contains($0) || (97...102).contains($0) })
    else { throw fields.wrong(key, "must be pairs of hexadecimal digits") }
    return token
  }

  private static let endpoint = Field<String?>.text(
    "endpoint", maxLength: WebPushSubscription.maxEndpointLength,
    "An https URL of an allowed push service, on port 443 unless another port is allowed."
  ).required()
  private static let publicKey = Field<String?>.text(
    "p256dh", maxLength: 128, "A point of P-256, 65 bytes in base64url."
  ).required()
  private static let authentication = Field<String?>.text(
    "auth", maxLength: 128, "16 bytes in base64url."
  ).required()
  private static let keys = Field<Fields?>.object(
    "keys", ObjectDeclaration(fields: [publicKey, authentication])
  ).required()

  package static let tokenField = FieldDeclaration(
    "token",
    .value(
      ObjectDeclaration(fields: [endpoint, keys]).schema.merging([
        "type": ["string", "object"], "minLength": .integer(1), "maxLength": .integer(maxTokenLength),
      ])), isRequired: true, isNullable: true,
    """
    The address of the device at the gateway. `simulator`: a name. `apns`: pairs of hexadecimal digits. `http`: the \
    pushkey. `webpush`: the subscription of the browser. null forgets the device.
    """)

  /// Parses the subscription object of a browser (Push API, `PushSubscriptionJSON`).
  private static func subscription(
    _ fields: Fields, _ key: String, _ services: PushServices
  ) throws(RequestError) -> WebPushSubscription {
    let json = try fields.required(key, fields.object(key))
    let keys = try Self.keys.value(in: json)
    let endpoint = try Self.endpoint.value(in: json)
    do {
      return try WebPushSubscription(
        endpoint: endpoint, publicKey: publicKey.value(in: keys), authentication: authentication.value(in: keys),
        services: services)
    } catch let fault as WebPushSubscription.Fault {
      throw json.wrong(fault.member.rawValue, fault.words)
    } catch {
      throw error as? RequestError ?? RequestError(.badRequest, "is no subscription", at: json.pointer)
    }
  }
}
