// SPDX-License-Identifier: Apache-2.0
import Foundation
import RelayJSON
public import RelayProtocol

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

/// Single HTTP requests for code without a socket: extensions, and an app that the system woke for a moment.
///
/// Each method sends one request. It throws the relay's error as ``StillwireError``, and `unreachable` after the
/// timeout.
public struct RelayAPI: Sendable {
  /// The URL of the relay.
  public let address: RelayAddress
  /// Timeout of the complete answer. An extension runs only for seconds.
  public let patience: Duration
  private let identity: @Sendable () async throws -> Identity

  /// - Parameters:
  ///   - address: The URL of the relay.
  ///   - patience: Timeout of the complete answer.
  ///   - identity: Called at each request.
  public init(
    _ address: RelayAddress, patience: Duration = .seconds(5),
    as identity: @escaping @Sendable () async throws -> Identity
  ) {
    self.address = address
    self.patience = patience
    self.identity = identity
  }

  /// Reports the action that the person chose in a notification.
  ///
  /// The relay accepts the same response, or one with the same `key`, again. It refuses another response to the same
  /// message with `conflict`.
  /// - Parameters:
  ///   - notification: The id of the push.
  ///   - action: `UNNotificationResponse.actionIdentifier`.
  ///   - text: The text of an action with text input.
  ///   - key: An idempotency key.
  public func respond(
    to notification: String, with action: ActionID, text: String? = nil, key: String? = nil
  ) async throws {
    let path = try path("/v1/notifications/", notification, "/responses")
    try await send(
      "POST", path,
      JSONWriter.object {
        $0["action"] = action.rawValue
        $0["text"] = text
        $0["key"] = key
      })
  }

  /// Requests the category registry. Returns `nil` if it still has this tag.
  public func categories(unless tag: String? = nil) async throws -> (registry: CategoryRegistry, tag: String?)? {
    var request = try await request("GET", "/v1/categories")
    if let tag { request.setValue(tag, forHTTPHeaderField: "If-None-Match") }
    let answer = try await HTTPExchange.answer(to: request, patience: patience)
    guard answer.status != 304 else { return nil }
    guard let registry = CategoryRegistry(try answer.json()) else {
      throw StillwireError(.malformed, "the answer is not a category registry")
    }
    return (registry, answer.tag)
  }

  func put(focus report: FocusReport) async throws -> FocusOutcome {
    let body = JSONWriter.object { $0.focus(report) }
    return FocusOutcome(try await send("PUT", "/v1/users/me/focus", body))
  }

  @discardableResult
  func send(_ method: String, _ path: String, _ body: [UInt8]) async throws -> JSON {
    try await HTTPExchange.answer(to: request(method, path, body), patience: patience).json()
  }

  private func request(_ method: String, _ path: String, _ body: [UInt8]? = nil) async throws -> URLRequest {
    let field = try await identity().field
    var request = URLRequest(relay: address, method, path, body)
    request.setValue(field.value, forHTTPHeaderField: field.name)
    return request
  }

  private func path(_ before: String, _ name: String, _ after: String) throws -> String {
    guard UUID(uuidString: name) != nil else { throw StillwireError(.notFound, "the id of a notification is a UUID") }
    return before + name + after
  }
}

extension URLRequest {
  init(relay: RelayAddress, _ method: String, _ path: String, _ body: [UInt8]?) {
    self.init(url: relay.url(path))
    httpMethod = method
    guard let body else { return }
    httpBody = Data(body)
    setValue("application/json", forHTTPHeaderField: "Content-Type")
  }
}

extension HTTPAnswer {
  /// Returns the body of a success. Throws the error of a problem document (RFC 9457).
  func json() throws -> JSON {
    let json = JSON(reading: body, maxDepth: Frame.maxNesting)
    guard (200..<300).contains(status) else {
      if let json, json["code"]?.text != nil { throw StillwireError(json) }
      throw StillwireError(.unreachable, "the answer was \(status)", isTemporary: status >= 500)
    }
    return json ?? .object([:])
  }
}
