// SPDX-License-Identifier: Apache-2.0
package import RelayCore
package import RelayHub
package import RelayJSON
package import RelayProtocol

extension HTTPRequest {
  /// True if the client has the body with this tag.
  package func knows(_ tag: String) -> Bool { ifNoneMatch.map { EntityTags($0).matchWeakly(tag) } ?? false }

  /// The parameters of the query that a command declares. Ignores others.
  package func arguments(_ parameters: [String: Declaration.Parameter]) throws(RequestError) -> [String: JSON] {
    var members: [String: JSON] = [:]
    for (name, value) in query {
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
    guard !body.isEmpty, let contentType else { return }
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
    headers = [("Content-Type", "application/json"), ("ETag", tag), ("Cache-Control", "private, no-cache")]
  }

  package static func json(_ status: Int, _ body: [UInt8]) -> HTTPResponse {
    HTTPResponse(
      status: status, headers: [("Content-Type", "application/json"), ("Cache-Control", "no-store")], body: body)
  }

  package static func json(_ status: Int, _ members: (inout JSONWriter.Object) -> Void) -> HTTPResponse {
    json(status, JSONWriter.object(members))
  }

  /// What a page of another origin asks for before a request that is more than a link could make (Fetch, "HTTP CORS
  /// protocol"). Whose pages may read the answer is the hub's to say.
  package static func options(_ methods: [String]) -> HTTPResponse {
    let allowed = methods.joined(separator: ", ")
    return HTTPResponse(
      status: 204,
      headers: [
        ("Allow", allowed), ("Access-Control-Allow-Methods", allowed),
        (
          "Access-Control-Allow-Headers",
          "Authorization, Content-Type, Idempotency-Key, If-Match, If-None-Match, X-Stillwire-User"
        ),
        ("Access-Control-Max-Age", "600"),
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
    var headers = [
      (name: "Content-Type", value: "application/problem+json"), (name: "Cache-Control", value: "no-store"),
    ]
    if let allowed { headers.append(("Allow", allowed.joined(separator: ", "))) }
    if error.code == .unauthorized { headers.append(("WWW-Authenticate", "Bearer")) }
    if error.status == 426 { headers.append(("Upgrade", "websocket")) }
    if let retryAfter = error.retryAfter {
      headers.append(("Retry-After", String(Int(retryAfter.seconds.rounded(.up)))))
    }
    return HTTPResponse(status: error.status, headers: headers, body: body)
  }
}
