// SPDX-License-Identifier: Apache-2.0
import Foundation
package import HTTPTypes
package import RelayCore
package import RelayHub
package import RelayJSON
package import RelayProtocol

// Selects RelayHub's types. HTTPTypes has types with the same names.
package typealias HTTPRequest = RelayHub.HTTPRequest
package typealias HTTPResponse = RelayHub.HTTPResponse

extension HTTPField.Name {
  /// The user of a request in open mode.
  package static let stillwireUser = HTTPField.Name("X-Stillwire-User")!
  static let idempotencyKey = HTTPField.Name("Idempotency-Key")!
  static let secWebSocketVersion = HTTPField.Name("Sec-WebSocket-Version")!
  static let referrerPolicy = HTTPField.Name("Referrer-Policy")!
}

extension HTTPRequest {
  package var authorization: String? { fields[.authorization] }
  package var user: String? { fields[.stillwireUser] }

  /// The parts of the path between slashes, decoded. Returns `nil` if one of them is no UTF-8.
  package var segments: [String]? {
    var segments: [String] = []
    for part in path.split(separator: "/", omittingEmptySubsequences: false) {
      guard let segment = part.contains("%") ? part.removingPercentEncoding : String(part) else { return nil }
      segments.append(segment)
    }
    return segments
  }

  /// The parameters of the query, decoded as those of a form, in their order. Returns `nil` if one of them is no UTF-8.
  var queryItems: [(name: String, value: String)]? {
    var items: [(name: String, value: String)] = []
    for parameter in query.split(separator: "&") {
      let parts = parameter.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
      guard let name = Self.decode(parts[0]), let value = Self.decode(parts.count > 1 ? parts[1] : "") else {
        return nil
      }
      items.append((name, value))
    }
    return items
  }

  private static func decode(_ text: Substring) -> String? {
    text.replacing("+", with: " ").removingPercentEncoding
  }

  /// True if the client has the body with this tag.
  package func knows(_ tag: String) -> Bool { fields[.ifNoneMatch].map { EntityTags($0).matchWeakly(tag) } ?? false }

  /// The parameters of the query that a command declares. Ignores others.
  package func arguments(_ parameters: [String: Declaration.Parameter]) throws(RequestError) -> [String: JSON] {
    var members: [String: JSON] = [:]
    guard let queryItems else { throw RequestError(.badRequest, "the query is no UTF-8", at: "/query") }
    for (name, value) in queryItems {
      guard let parameter = parameters[name] else { continue }
      guard members[name] == nil else {
        throw RequestError(.badRequest, "\(name) is given twice", at: "/query/\(name)")
      }
      members[name] = parameter == .number ? .argument(value) : .string(value)
    }
    return members
  }

  /// Throws if the type of a body is not JSON.
  func checkContentType() throws(RequestError) {
    guard !body.isEmpty, let contentType = fields[.contentType] else { return }
    let type = contentType.prefix { $0 != ";" }.lowercased().filter { $0 != " " && $0 != "\t" }
    guard type == "application/json" || (type.hasPrefix("application/") && type.hasSuffix("+json")) else {
      throw RequestError(
        .unsupported, "a body must be JSON, not \(type.prefix(64))", at: "/headers/content-type", status: 415)
    }
  }
}

extension JSON {
  /// A number in a path or a query. A text that is no number stays a text, which the command refuses.
  package static func argument(_ text: String) -> JSON {
    !text.isEmpty && text.utf8.allSatisfy { (48...57).contains($0) } ? .number(text) : .string(text)
  }
}

extension HTTPResponse {
  /// The response of a command.
  package init(_ reply: Reply) {
    guard reply.status != 204 else {
      self.init(status: 204)
      return
    }
    self = .json(reply.status, reply.text ?? JSONWriter.object(reply.members))
    guard let tag = reply.tag else { return }
    headers = [.contentType: "application/json", .eTag: tag, .cacheControl: "private, no-cache"]
  }

  package static func json(_ status: Int, _ body: [UInt8]) -> HTTPResponse {
    HTTPResponse(
      status: status, headers: [.contentType: "application/json", .cacheControl: "no-store"], body: body)
  }

  package static func json(_ status: Int, _ members: (inout JSONWriter.Object) -> Void) -> HTTPResponse {
    json(status, JSONWriter.object(members))
  }

  /// Answers a CORS preflight (Fetch, "HTTP CORS protocol"), or another OPTIONS. The hub adds
  /// Access-Control-Allow-Origin.
  package static func options(_ methods: [String]) -> HTTPResponse {
    let allowed = methods.joined(separator: ", ")
    return HTTPResponse(
      status: 204,
      headers: [
        .allow: allowed, .accessControlAllowMethods: allowed,
        .accessControlAllowHeaders:
          "Authorization, Content-Type, Idempotency-Key, If-Match, If-None-Match, X-Stillwire-User",
        .accessControlMaxAge: "600",
      ])
  }

  /// A problem document (RFC 9457).
  package static func problem(_ error: RequestError, allowed: [String]? = nil) -> HTTPResponse {
    let body = JSONWriter.object {
      $0["type"] = "about:blank"
      $0["title"] = HTTPResponse.reason(of: error.status)
      $0.integer("status", error.status)
      $0["code"] = error.code.rawValue
      $0["detail"] = error.message
      $0["at"] = error.at
      $0.decimal("retryAfter", error.retryAfter?.seconds)
    }
    var headers: HTTPFields = [.contentType: "application/problem+json", .cacheControl: "no-store"]
    if let allowed { headers[.allow] = allowed.joined(separator: ", ") }
    if error.code == .unauthorized { headers[.wwwAuthenticate] = "Bearer" }
    if error.status == 426 {
      headers[.connection] = "Upgrade"
      headers[.upgrade] = "websocket"
      headers[.secWebSocketVersion] = "13"
    }
    if let retryAfter = error.retryAfter { headers[.retryAfter] = String(Int(retryAfter.seconds.rounded(.up))) }
    return HTTPResponse(status: error.status, headers: headers, body: body)
  }
}
