// SPDX-License-Identifier: Apache-2.0
import RelayHub
import RelayJSON
import RelayProtocol

extension HTTPRequest {
  /// The arguments of these names, as the fields of a request; others are ignored.
  func arguments(numbers: Set<String> = [], texts: Set<String> = []) throws(RequestError) -> Fields {
    var members: [String: JSON] = [:]
    for (name, value) in query where numbers.contains(name) || texts.contains(name) {
      guard members[name] == nil else {
        throw RequestError(.badRequest, "\(name) is given twice", at: "/query/\(name)")
      }
      let isNumber = numbers.contains(name) && !value.isEmpty && value.utf8.allSatisfy { (48...57).contains($0) }
      members[name] = isNumber ? .number(value) : .string(value)
    }
    return Fields(members, at: "/query")
  }

  /// Throws where a body is told to be anything but JSON.
  func checkContentType() throws(RequestError) {
    guard !body.isEmpty, let contentType else { return }
    let type = contentType.prefix { $0 != ";" }.lowercased().filter { $0 != " " && $0 != "\t" }
    guard type == "application/json" || (type.hasPrefix("application/") && type.hasSuffix("+json")) else {
      throw RequestError(
        .unsupported, "a body must be JSON, not \(type.prefix(64))", at: "/headers/content-type", status: 415)
    }
  }
}

/// A method that a path does not know.
struct MethodRefusal: Error {
  let allowed: [String]
}

extension HTTPResponse {
  static func json(_ status: Int, _ body: [UInt8]) -> HTTPResponse {
    HTTPResponse(
      status: status, headers: [("Content-Type", "application/json"), ("Cache-Control", "no-store")], body: body)
  }

  static func json(_ status: Int, _ members: (inout JSONWriter.Object) -> Void) -> HTTPResponse {
    json(status, JSONWriter.object(members))
  }

  /// What a page of another origin asks for before a request that is more than a link could make (Fetch, "HTTP CORS
  /// protocol"). Whose pages may read the answer is the hub's to say.
  static func options(_ methods: [String]) -> HTTPResponse {
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
  static func problem(_ error: RequestError, allowed: [String]? = nil) -> HTTPResponse {
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
