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

  /// HTTP: paths, methods, bodies and responses (OpenAPI 3.1).
  package static let openAPI = Document(PackageResources.openapi_json)
  /// Sessions: requests, replies and events (AsyncAPI 3.0).
  package static let asyncAPI = Document(PackageResources.asyncapi_json)

  package func response(to request: HTTPRequest) -> HTTPResponse {
    let headers = [(name: "Content-Type", value: "application/json"), ("ETag", tag), ("Cache-Control", "no-cache")]
    if request.knows(tag) { return HTTPResponse(status: 304, headers: headers) }
    return HTTPResponse(status: 200, headers: headers, body: text)
  }
}
