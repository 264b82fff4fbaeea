// SPDX-License-Identifier: Apache-2.0
import RelayHub
import RelayJSON
import RelayProtocol

/// The registry of categories: clients read it at launch, a backend sets it.
extension Relay {
  static let categoryRoutes = [
    Route(
      "/v1/categories",
      .called("GET") { relay, call in relay.getCategories(call) },
      .called("PUT", by: .backend) { relay, call in try await relay.putCategories(call) })
  ]

  private func getCategories(_ call: HTTPCall) -> HTTPResponse {
    .categories(categories, isKnown: call.request.knows(categories.tag))
  }

  private func putCategories(_ call: HTTPCall) async throws -> HTTPResponse {
    let fields = try parser.parse(call.request.body)
    let version = try fields.integer("version", 0...largestInteger)
    let registry = try CategoryRegistry(version: 0, fields)
    var replaced = version
    let tags = call.request.ifMatch.map(EntityTags.init)
    // There always are categories, if only none: any is any.
    if let tags, !tags.isAny {
      let known = categories
      guard tags.match(known.tag) else { throw mismatch }
      guard version ?? known.registry.version == known.registry.version else { throw outdated }
      replaced = known.registry.version
    }
    guard try await setCategories(registry, replacing: replaced) else {
      throw tags.map { !$0.isAny } == true ? mismatch : outdated
    }
    return .categories(categories, isKnown: false)
  }

  private var mismatch: RequestError {
    RequestError(.conflict, "the categories are others by now", at: "/headers/if-match", status: 412)
  }

  private var outdated: RequestError {
    RequestError(
      .conflict, "the categories are at version \(categories.registry.version) by now", at: "/version")
  }
}

extension HTTPResponse {
  fileprivate static func categories(_ categories: Categories, isKnown: Bool) -> HTTPResponse {
    let headers = [
      (name: "Content-Type", value: "application/json"), ("ETag", categories.tag),
      ("Cache-Control", "private, no-cache"),
    ]
    return HTTPResponse(status: isKnown ? 304 : 200, headers: headers, body: isKnown ? [] : categories.document)
  }
}
