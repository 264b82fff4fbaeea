// SPDX-License-Identifier: Apache-2.0
import RelayDelivery
import RelayProtocol

extension Push {
  /// What Apple's service would refuse it for; nil when it would take it. The texts of the payload are not looked into.
  ///
  /// From Apple's "Sending notification requests to APNs" and "Handling notification responses from APNs".
  var fault: GatewayReason? {
    if !id.isLowercaseUUID { return .badMessageID }
    if headers.topic.isEmpty { return .missingTopic }
    if headers.collapseID.utf8.count > PushHeaders.longestCollapseID { return .badCollapseID }
    if headers.expiration < 0 { return .badExpirationDate }
    if payload.isEmpty { return .payloadEmpty }
    if payload.count > (headers.type == .voip ? Push.largestVoIPPayload : Push.largestPayload) {
      return .payloadTooLarge
    }
    return nil
  }
}
