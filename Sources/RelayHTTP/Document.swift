// SPDX-License-Identifier: Apache-2.0
import RelayCore
package import RelayHub

/// A description of this interface that clients and tools read.
package struct Document: Sendable {
  package let text: [UInt8]
  private let tag: String

  package init(_ text: [UInt8]) {
    self.text = text
    tag = entityTag(of: text)
  }

  /// What is asked over HTTP: paths, methods, bodies, answers (OpenAPI 3.1).
  package static let openAPI = Document(PackageResources.openapi_json)
  /// What is said in sessions: requests, replies, events (AsyncAPI 3.0).
  static let asyncAPI = Document(PackageResources.asyncapi_json)

  package func response(to request: HTTPRequest) -> HTTPResponse {
    let headers = [(name: "Content-Type", value: "application/json"), ("ETag", tag), ("Cache-Control", "no-cache")]
    if request.knows(tag) { return HTTPResponse(status: 304, headers: headers) }
    return HTTPResponse(status: 200, headers: headers, body: text)
  }
}
