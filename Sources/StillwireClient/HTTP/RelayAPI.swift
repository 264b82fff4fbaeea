// SPDX-License-Identifier: Apache-2.0
import Foundation
import RelayJSON
public import RelayProtocol

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

/// Single requests over HTTP, for code that has no socket: extensions, and an app that the system woke for a moment.
///
/// Each is one request, answered in time or given up with `unreachable`. What the relay refuses is thrown as
/// ``StillwireError``.
public struct RelayAPI: Sendable {
  public let address: RelayAddress
  /// Until the whole answer must be there. An extension lives for seconds.
  public let patience: Duration
  private let identity: @Sendable () async throws -> Identity

  /// - Parameters:
  ///   - address: The relay's.
  ///   - patience: How long an answer may take.
  ///   - identity: Asked at each request.
  public init(
    _ address: RelayAddress, patience: Duration = .seconds(5),
    as identity: @escaping @Sendable () async throws -> Identity
  ) {
    self.address = address
    self.patience = patience
    self.identity = identity
  }

  /// What a person did with a notification: `UNNotificationResponse.actionIdentifier`, and `text` of an action with
  /// text input.
  ///
  /// The same again, or with the same `key`, is taken as the same. Another response to the same message is `conflict`.
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

  /// The category registry; nil: it is still that of `tag`.
  public func categories(unless tag: String? = nil) async throws -> (registry: CategoryRegistry, tag: String?)? {
    var request = try await request("GET", "/v1/categories")
    if let tag { request.setValue(tag, forHTTPHeaderField: "If-None-Match") }
    let answer = try await HTTPExchange.answer(to: request, patience: patience)
    guard answer.status != 304 else { return nil }
    guard let registry = CategoryRegistry(try answer.json()) else {
      throw StillwireError(.malformed, "the answer is no registry of categories")
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
    guard UUID(uuidString: name) != nil else { throw StillwireError(.notFound, "it is no notification's id") }
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
  /// The body of a success; throws what a problem document (RFC 9457) says.
  func json() throws -> JSON {
    let json = JSON(reading: body, deepest: Frame.deepest)
    guard (200..<300).contains(status) else {
      if let json, json["code"]?.text != nil { throw StillwireError(json) }
      throw StillwireError(.unreachable, "the answer was \(status)", isTemporary: status >= 500)
    }
    return json ?? .object([:])
  }
}
