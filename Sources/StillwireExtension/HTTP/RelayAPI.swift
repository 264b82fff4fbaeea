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
/// timeout. With the addresses of a cluster it sends the request to each node in turn, until the leader answers. It
/// begins with the node that has answered the last request.
public struct RelayAPI: Sendable {
  /// The relay, or all nodes of a cluster.
  public let addresses: [RelayAddress]
  /// Timeout of the complete answer of each address. An extension runs only for seconds.
  public let patience: Duration
  private let book: Locked<AddressBook>
  private let identity: @Sendable () async throws -> Identity

  /// - Parameters:
  ///   - address: The URL of the relay.
  ///   - patience: Timeout of the complete answer.
  ///   - identity: Called at each request.
  public init(
    _ address: RelayAddress, patience: Duration = .seconds(5),
    as identity: @escaping @Sendable () async throws -> Identity
  ) {
    self.init([address], patience: patience, as: identity)
  }

  /// - Parameters:
  ///   - addresses: The URLs of a cluster's nodes, at least one.
  ///   - patience: Timeout of the complete answer of each node.
  ///   - identity: Called at each request.
  public init(
    _ addresses: [RelayAddress], patience: Duration = .seconds(5),
    as identity: @escaping @Sendable () async throws -> Identity
  ) {
    precondition(!addresses.isEmpty, "a request needs an address")
    self.addresses = addresses
    book = Locked(AddressBook(addresses))
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

  /// Reports the response of ``NotificationResponse``, in the same way.
  public func respond(_ response: NotificationResponse) async throws {
    try await respond(to: response.notification, with: response.action, text: response.text, key: response.key)
  }

  /// Reports that a push has arrived on this device, with the device's report key. A repeated report changes nothing.
  ///
  /// ``ArrivalReceipt`` does the same without a key, for 3 days after the push.
  /// - Parameter notification: The id of the push.
  public func received(_ notification: String) async throws {
    try await send("POST", try path("/v1/notifications/", notification, "/received"), JSONWriter.object { _ in })
  }

  /// Reports that a push has arrived on this device, with the token of its payload. If the payload has no token, or the
  /// relay refuses it, for example because it has expired, the report has this API's identity: the device's report key.
  /// - Parameters:
  ///   - notification: The id of the push.
  ///   - receipt: The token of the payload, or `nil` if it has none.
  public func received(_ notification: String, receipt: ArrivalReceipt?) async throws {
    if let receipt {
      do {
        return try await receipt.report(to: addresses, patience: patience)
      } catch let error as StillwireError where !error.isTemporary && error.code != .unreachable {
        // Another credential may succeed.
      }
    }
    try await received(notification)
  }

  /// Answers a call. The ringing ends on all other devices of the user, and the relay accepts the same answer again.
  /// Throws `conflict` if the user has answered on another device, or if the call is over.
  ///
  /// The device's report key permits this request, so that a phone can answer after its token has expired.
  /// - Parameters:
  ///   - call: The message of the call.
  ///   - device: The device that answers. A report key needs none: it belongs to a device.
  @discardableResult
  public func answer(_ call: MessageReference, on device: DeviceID? = nil) async throws -> CallRecord {
    try await perform("answer", call, device)
  }

  /// Declines a call on all devices of the user. The parameters and errors are those of ``answer(_:on:)``.
  @discardableResult
  public func decline(_ call: MessageReference, on device: DeviceID? = nil) async throws -> CallRecord {
    try await perform("decline", call, device)
  }

  /// Leaves a call, or cancels the user's own call before anybody answers. The parameters are those of
  /// ``answer(_:on:)``. Throws `conflict` if another device of the user has answered: the call then continues there.
  @discardableResult
  public func hangUp(_ call: MessageReference, on device: DeviceID? = nil) async throws -> CallRecord {
    try await perform("hangup", call, device)
  }

  /// Reads a call, with its users. The device's report key permits this request, so that a phone that the call has woken
  /// can read whether it still rings. The user needs the right to the history of the room.
  public func call(_ call: MessageReference) async throws -> CallRecord {
    try Self.record(await send("GET", Self.path(of: call), nil))
  }

  private func perform(_ action: String, _ call: MessageReference, _ device: DeviceID?) async throws -> CallRecord {
    let body = JSONWriter.object { $0["device"] = device?.rawValue }
    return try Self.record(await send("POST", "\(Self.path(of: call))/\(action)", body))
  }

  private static func path(of call: MessageReference) -> String {
    "/v1/rooms/\(segment(call.room.rawValue))/calls/\(call.seq)"
  }

  private static func record(_ reply: JSON) throws -> CallRecord {
    guard let record = CallRecord(reply) else { throw StillwireError(.malformed, "the answer is not a call") }
    return record
  }

  /// Registers this device for pushes, with the user's token. Returns the new report key, for the app's
  /// extensions, and the relay's warnings.
  ///
  /// The token needs the right to register devices: the claim `account` with `devices`, or no claim `account` and some
  /// right in `rooms`. Otherwise the relay answers `forbidden`.
  public func register(_ registration: PushRegistration) async throws -> DeviceRegistration {
    let reply = try await send(
      "PUT", Self.path(of: registration.device), JSONWriter.object { $0.members(registration.fields) })
    return try DeviceRegistration(reply)
  }

  /// Forgets a device, with the user's token or the device's report key. The relay sends it no more pushes, and revokes
  /// its report keys. The method also succeeds if the relay does not know the device.
  /// - Parameters:
  ///   - device: The device to forget. A report key permits only its own device.
  ///   - user: The user of the device. Is the user of the token if it is `nil`.
  public func forget(_ device: DeviceID, of user: UserID? = nil) async throws {
    do {
      try await send("DELETE", Self.path(of: device, user), nil)
    } catch let error as StillwireError where error.code == .refused(.notFound) {
      // A former request has forgotten it.
    }
  }

  /// Requests the category registry. Returns `nil` if it still has this tag.
  public func categories(unless tag: String? = nil) async throws -> (registry: CategoryRegistry, tag: String?)? {
    let answer = try await answer("GET", "/v1/categories", unless: tag)
    guard answer.status != 304 else { return nil }
    guard let registry = CategoryRegistry(try answer.json()) else {
      throw StillwireError(.malformed, "the answer is not a category registry")
    }
    return (registry, answer.tag)
  }

  func put(focus report: FocusReport) async throws -> JSON {
    try await send("PUT", "/v1/users/me/focus", JSONWriter.object { $0.focus(report) })
  }

  func put(filter report: FilterReport) async throws -> JSON {
    try await send("PUT", "/v1/users/me/filter", JSONWriter.object { $0.filter(report) })
  }

  @discardableResult
  func send(_ method: String, _ path: String, _ body: [UInt8]?) async throws -> JSON {
    try await answer(method, path, body).json()
  }

  private func answer(
    _ method: String, _ path: String, _ body: [UInt8]? = nil, unless tag: String? = nil
  ) async throws -> HTTPAnswer {
    let identity = try await identity()
    try identity.check()
    let field = identity.field
    return try await HTTPExchange.answer(from: book, patience: patience) { address in
      var request = URLRequest(relay: address, method, path, body)
      request.setValue(field.value, forHTTPHeaderField: field.name)
      if let tag { request.setValue(tag, forHTTPHeaderField: "If-None-Match") }
      return request
    }
  }

  private static func path(of device: DeviceID, _ user: UserID? = nil) -> String {
    "/v1/users/\(segment(user?.rawValue ?? "me"))/devices/\(segment(device.rawValue))"
  }

  /// A name in a path. A path may not contain "|", which names may have.
  private static func segment(_ name: String) -> String {
    name.addingPercentEncoding(withAllowedCharacters: .urlPathAllowed) ?? name
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
  /// True if the leader may be another node. 304 is no redirect, but the answer to `If-None-Match`.
  var mayBeStandby: Bool { status == 503 || (300..<400).contains(status) && status != 304 }

  /// Returns the body of a success. Throws the error of a problem document (RFC 9457).
  func json() throws -> JSON {
    let json = JSON(reading: body, maxDepth: JSON.maxNesting)
    guard (200..<300).contains(status) else {
      if let json, json["code"]?.text != nil { throw StillwireError(json) }
      throw StillwireError(.unreachable, "the answer was \(status)", isTemporary: mayBeStandby || status >= 500)
    }
    return json ?? .object([:])
  }
}
