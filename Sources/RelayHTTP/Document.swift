// SPDX-License-Identifier: Apache-2.0
import HTTPTypes
import RelayHub
import RelayRequests

// The documents at `/openapi.json` and `/asyncapi.json`, made of the files in `Documents`.

/// A description of the interface for clients and tools.
package struct Document: Sendable {
  package let text: [UInt8]
  private let tag: String

  package init(_ text: [UInt8]) {
    self.text = text
    tag = entityTag(of: text)
  }

  package enum Name: String, CaseIterable, Sendable {
    /// HTTP: paths, methods, bodies and responses (OpenAPI 3.1).
    case openapi
    /// Sessions: requests, replies and events (AsyncAPI 3.0).
    case asyncapi
  }

  static let openAPI = Document(completing: describeHTTP())
  static let asyncAPI = Document(completing: describeSessions())

  /// Returns a document. The first call makes it, which takes milliseconds, so this does not run on the hub's thread.
  @concurrent package static func named(_ name: Name) async -> Document {
    switch name {
    case .openapi: openAPI
    case .asyncapi: asyncAPI
    }
  }

  package func response(to request: HTTPRequest) -> HTTPResponse {
    let headers: HTTPFields = [.contentType: "application/json", .eTag: tag, .cacheControl: "no-cache"]
    if request.knows(tag) { return HTTPResponse(status: 304, headers: headers) }
    return HTTPResponse(status: 200, headers: headers, body: text)
  }
}
