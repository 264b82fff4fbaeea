// SPDX-License-Identifier: Apache-2.0
import Foundation
public import RelayJSON
import RelayProtocol

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

/// Reports the arrival of a push. The short-lived token in the payload authenticates the report.
public struct ArrivalReceipt: Equatable, Sendable {
  public let notification: String
  public let receipt: String

  /// Reads the ids from a communication. Returns `nil` if the payload has no token.
  public init?(_ payload: CommunicationPayload) {
    self.init(notification: payload.notification, receipt: payload.receipt)
  }

  /// Reads the ids from a payload of any kind. A communication has them in `communication`, a digest or a plain
  /// notification in `push`. Returns `nil` if the payload has no token.
  public init?(_ payload: JSON) {
    self.init(notification: payload.push?["notification"]?.text, receipt: payload.push?["receipt"]?.text)
  }

  /// Reads the text of a payload. Returns `nil` if it has no token, or is longer than ``CommunicationPayload/maxSize``.
  public init?(reading text: some Collection<UInt8>) {
    guard let payload = JSON(payload: text) else { return nil }
    self.init(payload)
  }

  private init?(notification: String?, receipt: String?) {
    // The id becomes a part of a URL's path, so it must be a UUID.
    guard let notification, UUID(uuidString: notification) != nil, let receipt, !receipt.isEmpty else { return nil }
    self.notification = notification
    self.receipt = receipt
  }

  /// Sends the receipt with one HTTP request. Throws ``StillwireError``. A late or repeated receipt is not an error.
  /// - Parameter patience: Timeout of the answer.
  public func report(to relay: RelayAddress, patience: Duration = .seconds(5)) async throws {
    try await report(to: [relay], patience: patience)
  }

  /// Sends the receipt to the leader of a cluster, of which these are the nodes. Throws ``StillwireError``.
  /// - Parameter patience: Timeout of the answer of each node.
  public func report(to nodes: [RelayAddress], patience: Duration = .seconds(5)) async throws {
    let body = JSONWriter.object { $0["receipt"] = receipt }
    let answer = try await HTTPExchange.answer(from: Locked(AddressBook(nodes)), patience: patience) { node in
      URLRequest(relay: node, "POST", "/v1/notifications/\(notification)/received", body)
    }
    _ = try answer.json()
  }
}

extension CommunicationPayload {
  /// Reads the id of a push of any kind from the text of its payload: a communication, a digest or a plain
  /// notification. Returns `nil` if the payload has no such id, or is longer than ``maxSize``.
  ///
  /// ``RelayAPI/respond(to:with:text:key:)`` takes this id.
  public static func notification(reading text: some Collection<UInt8>) -> String? {
    guard let id = JSON(payload: text)?.push?["notification"]?.text else { return nil }
    return UUID(uuidString: id) == nil ? nil : id
  }
}
