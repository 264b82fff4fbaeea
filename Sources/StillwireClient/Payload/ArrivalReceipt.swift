// SPDX-License-Identifier: Apache-2.0
import Foundation
import RelayProtocol

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

/// Says that a push has arrived: the payload's own short-lived token is all that it needs.
public struct ArrivalReceipt: Equatable, Sendable {
  public let notification: String
  public let receipt: String

  /// nil: the payload brought no token.
  public init?(_ payload: CommunicationPayload) {
    // It becomes a part of a path.
    guard let notification = payload.notification, UUID(uuidString: notification) != nil, let receipt = payload.receipt
    else { return nil }
    self.notification = notification
    self.receipt = receipt
  }

  /// One request; throws ``StillwireError``. A receipt that was late or told before is no error.
  public func report(to relay: RelayAddress, patience: Duration = .seconds(5)) async throws {
    let body = JSONWriter.object { $0["receipt"] = receipt }
    let request = URLRequest(relay: relay, "POST", "/v1/notifications/\(notification)/received", body)
    _ = try await HTTPExchange.answer(to: request, patience: patience).json()
  }
}
