// SPDX-License-Identifier: Apache-2.0
// The checks of Apple's service, for `SimulatedGateway`.
import RelayDelivery
import RelayProtocol

extension Push {
  /// The reason for which Apple's service would refuse the push, or `nil`. Ignores the contents of the payload.
  ///
  /// Source: Apple's "Sending notification requests to APNs" and "Handling notification responses from APNs".
  var fault: GatewayReason? {
    if !id.isLowercaseUUID { return .badMessageID }
    if headers.topic.isEmpty { return .missingTopic }
    if headers.collapseID.utf8.count > PushHeaders.maxCollapseID { return .badCollapseID }
    if headers.expiration < 0 { return .badExpirationDate }
    if payload.isEmpty { return .payloadEmpty }
    if payload.count > (headers.type == .voip ? Push.maxVoIPPayload : Push.maxPayload) {
      return .payloadTooLarge
    }
    return nil
  }
}
