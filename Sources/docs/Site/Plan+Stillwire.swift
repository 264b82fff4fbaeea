// SPDX-License-Identifier: Apache-2.0

extension Plan {
  static let stillwire = Plan(
    groups: [
      Group(
        title: "Start",
        pages: [
          Page(
            name: "index", title: "Quick start",
            parts: [
              .introduction(of: readme), .section("Two commands", of: readme),
              .section("A client in one minute", of: readme), .section("Tokens, keys and settings", of: readme),
              .section("Limits of this release, plainly", of: readme),
            ]),
          Page(
            name: "overview", title: "Delivery at a glance",
            parts: [
              .section("When is somebody pushed to?", of: readme), .section("Focus", of: readme),
              .section("What is wrong with this push?", of: readme),
            ]),
          Page(name: "changes", title: "Changes", parts: [.file("CHANGELOG.md")]),
        ]),
      Group(
        title: "Reference",
        pages: [
          Page(name: "protocol", title: "Protocol", parts: [.file(protocolArticle("Protocol"))]),
          Page(name: "http", title: "HTTP API", parts: [.operations(of: openAPI)]),
          Page(name: "objects", title: "Objects of the HTTP API", parts: [.schemas(of: openAPI)]),
          Page(name: "clients", title: "What a client does", parts: [.section("What a client does", of: conformance)]),
        ]),
      Group(
        title: "Delivery",
        pages: [
          Page(name: "delivery", title: "Delivery rules", parts: [.file(protocolArticle("Delivery"))]),
          Page(name: "payload", title: "Payloads", parts: [.file(protocolArticle("Payload"))]),
          Page(name: "categories", title: "Categories", parts: [.file(protocolArticle("Categories"))]),
          Page(name: "services", title: "Push services", parts: [.section("Push services", of: readme)]),
          Page(name: "lint", title: "Push linter", parts: [.file(protocolArticle("PushLint"))]),
          Page(name: "simulator", title: "Apple's simulator", parts: [.file(protocolArticle("AppleSimulator"))]),
        ]),
      Group(
        title: "Apps in Swift",
        pages: [
          Page(
            name: "swift", title: "StillwireClient", parts: [.introduction(of: clientArticle("StillwireClient"))]),
          Page(name: "swift-start", title: "Getting started", parts: [.file(clientArticle("GettingStarted"))]),
          Page(name: "swift-focus", title: "Sharing Focus", parts: [.file(clientArticle("SharingFocus"))]),
          Page(
            name: "swift-communication", title: "Communication notifications",
            parts: [.file(clientArticle("CommunicationNotifications"))]),
          Page(name: "swift-filters", title: "Focus filters", parts: [.file(clientArticle("FocusFilters"))]),
          Page(
            name: "swift-actions", title: "Actions with text input",
            parts: [.file(clientArticle("NotificationActions"))]),
          Page(
            name: "swift-groups", title: "Grouped notifications", parts: [.file(clientArticle("GroupedNotifications"))]
          ),
        ]),
      Group(
        title: "Operation",
        pages: [
          Page(name: "deployment", title: "Deployment", parts: [.file("deploy/README.md")]),
          Page(name: "speed", title: "Speed", parts: [.section("Speed", of: readme)]),
        ]),
    ],
    leftOut: [
      // For who reads the sources, and has them.
      .section("A tour of the sources, in reading order", of: readme),
      .introduction(of: conformance), .section("A driver", of: conformance), .section("A script", of: conformance),
      // DocC makes links to symbols of it, the navigation has the articles.
      .section("Topics", of: clientArticle("StillwireClient")),
    ])

  private static let readme = "README.md"
  private static let conformance = "Tests/Conformance/README.md"
  private static let openAPI = "Sources/RelayHTTP/Documents/openapi.json"

  private static func protocolArticle(_ name: String) -> String {
    "Sources/RelayProtocol/RelayProtocol.docc/\(name).md"
  }

  private static func clientArticle(_ name: String) -> String {
    "Sources/StillwireClient/StillwireClient.docc/\(name).md"
  }
}
