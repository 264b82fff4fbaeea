// SPDX-License-Identifier: Apache-2.0
import Crypto
import RelayHub

/// A description of this interface that clients and tools read.
struct Document: Sendable {
  let text: [UInt8]
  private let tag: String

  init(_ text: [UInt8]) {
    self.text = text
    tag = entityTag(of: text)
  }

  /// What is asked over HTTP: paths, methods, bodies, answers (OpenAPI 3.1).
  static let openAPI = Document(PackageResources.openapi_json)
  /// What is said in sessions: requests, replies, events (AsyncAPI 3.0).
  static let asyncAPI = Document(PackageResources.asyncapi_json)

  func response(to request: HTTPRequest) -> HTTPResponse {
    let headers = [(name: "Content-Type", value: "application/json"), ("ETag", tag), ("Cache-Control", "no-cache")]
    if request.ifNoneMatch == tag { return HTTPResponse(status: 304, headers: headers) }
    return HTTPResponse(status: 200, headers: headers, body: text)
  }
}

/// Names these bytes (RFC 9110, section 8.8.3).
func entityTag(of bytes: some Sequence<UInt8>) -> String {
  let digest = SHA256.hash(data: Array(bytes)).prefix(12)
  return "\"" + digest.map { String($0 >> 4, radix: 16) + String($0 & 15, radix: 16) }.joined() + "\""
}
