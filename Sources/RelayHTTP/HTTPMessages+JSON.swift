// SPDX-License-Identifier: Apache-2.0
import Foundation
package import HTTPTypes
package import RelayHub
package import RelayJSON
package import RelayProtocol
package import RelayRequests

// Conversions between HTTP messages and the values of commands: paths, queries, replies and problem documents.

// Selects RelayHub's types, because HTTPTypes has types with the same names.
package typealias HTTPRequest = RelayHub.HTTPRequest
package typealias HTTPResponse = RelayHub.HTTPResponse

extension HTTPField.Name {
  /// The user of a request in open mode.
  package static let stillwireUser = HTTPField.Name("X-Stillwire-User")!
  static let idempotencyKey = HTTPField.Name("Idempotency-Key")!
  static let lastEventID = HTTPField.Name("Last-Event-ID")!
  static let xAccelBuffering = HTTPField.Name("X-Accel-Buffering")!
  static let secWebSocketVersion = HTTPField.Name("Sec-WebSocket-Version")!
  static let referrerPolicy = HTTPField.Name("Referrer-Policy")!
}

extension HTTPRequest {
  package var authorization: String? { fields[.authorization] }
  package var user: String? { fields[.stillwireUser] }

  /// The parts of the path between slashes, percent-decoded. Is `nil` if a part is not UTF-8.
  package var segments: [String]? {
    var segments: [String] = []
    for part in path.split(separator: "/", omittingEmptySubsequences: false) {
      guard let segment = part.utf8.contains(UInt8(ascii: "%")) ? part.removingPercentEncoding : String(part) else {
        return nil
      }
      segments.append(segment)
    }
    return segments
  }

  /// The parameters of the query in their order, decoded like those of a form. Is `nil` if one of them is not UTF-8.
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

  /// True if the client's cached copy is current: `If-None-Match` has this tag.
  package func knows(_ tag: String) -> Bool { fields[.ifNoneMatch].map { EntityTags($0).matchWeakly(tag) } ?? false }

  /// The parameters of the query that a command declares. Other parameters are ignored.
  package func arguments(_ parameters: [String: Declaration.Parameter]) throws(RequestError) -> [String: JSON] {
    var members: [String: JSON] = [:]
    guard let queryItems else { throw RequestError(.badRequest, "the query is not UTF-8", at: "/query") }
    for (name, value) in queryItems {
      guard let parameter = parameters[name] else { continue }
      guard members[name] == nil else {
        throw RequestError(.badRequest, "\(name) is given twice", at: "/query/\(name)")
      }
      members[name] =
        switch parameter {
        case .number: .argument(value)
        case .text: .string(value)
        case .flag: value == "true" || value == "false" ? .bool(value == "true") : .string(value)
        }
    }
    return members
  }

  /// Throws `unsupported` with status 415 if `Content-Type` of a body is not JSON.
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
  /// Converts an argument of a path or a query: digits become a number. Other text remains text, which the command
  /// rejects if it requires a number.
  package static func argument(_ text: String) -> JSON {
    !text.isEmpty && text.utf8.allSatisfy { (48...57).contains($0) } ? .number(text) : .string(text)
  }
}

extension HTTPResponse {
  /// The response for the reply of a command.
  package init(_ reply: Reply) {
    guard reply.status != 204 else {
      self.init(status: 204)
      return
    }
    self = .json(reply.status, reply.text ?? JSONWriter.object(reply.members))
    if let type = reply.mediaType { headers[.contentType] = type }
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

  /// The answer to a CORS preflight (Fetch, "HTTP CORS protocol") or another OPTIONS request. The hub adds
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
  /// - Parameter leader: The URL of the cluster's leader, at a node that does not lead.
  package static func problem(
    _ error: RequestError, allowed: [String]? = nil, leader: String? = nil
  ) -> HTTPResponse {
    let body = JSONWriter.object {
      $0["type"] = "about:blank"
      $0["title"] = HTTPResponse.reason(of: error.status)
      $0.integer("status", error.status)
      $0["code"] = error.code.rawValue
      $0["detail"] = error.message
      $0["at"] = error.at
      $0["leader"] = leader
      $0.decimal("retryAfter", error.retryAfter?.seconds)
      $0.integer("until", error.until?.rawValue)
    }
    var headers: HTTPFields = [.contentType: "application/problem+json", .cacheControl: "no-store"]
    if let allowed { headers[.allow] = allowed.joined(separator: ", ") }
    if let leader { headers[.stillwireLeader] = leader }
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
