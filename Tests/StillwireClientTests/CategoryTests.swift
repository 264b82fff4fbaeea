// SPDX-License-Identifier: Apache-2.0
// Tests the category registry in the Swift client: parsing, and declarations in the person's language.
import RelayFollowers
import RelayJSON
import RelayProtocol
import RelayRequests
import RelayServer
import Testing

@testable import StillwireClient
@testable import StillwireExtension

@Suite struct CategoryTests {
  private static let json: JSON = [
    "version": 3,
    "categories": [
      [
        "id": "invitation",
        "actions": [
          [
            "id": "accept", "title": ["default": "Accept", "de": "Annehmen"], "options": ["foreground", "newer"],
            "icon": ["system": "checkmark"],
          ],
          [
            "id": "reply", "title": "Reply", "options": [], "textInput": ["button": "Send", "placeholder": "Message"],
            "posts": true,
          ],
        ],
        "options": ["customDismissAction", "newer"], "hiddenPreviewBody": "An invitation",
      ]
    ],
  ]

  @Test func `the client parses a registry, and ignores options that it does not know`() throws {
    let registry = try #require(CategoryRegistry(Self.json))
    #expect(registry.version == 3)
    #expect(
      registry["invitation"]
        == NotificationCategory(
          id: "invitation",
          actions: [
            NotificationAction(
              id: "accept", title: .languages(["default": "Accept", "de": "Annehmen"]), options: [.foreground],
              icon: .system("checkmark")),
            NotificationAction(
              id: "reply", title: .text("Reply"),
              textInput: .init(button: .text("Send"), placeholder: .text("Message")),
              posts: true),
          ], options: [.customDismissAction], hiddenPreviewBody: .text("An invitation")))
  }

  @Test func `the client parses the registry that the relay writes`() throws {
    let registry = try #require(CategoryRegistry(Self.json))
    let written = try #require(JSON(reading: registry.categoriesJSON))
    #expect(CategoryRegistry(["version": 3, "categories": written]) == registry)
  }

  @Test(
    arguments: [
      [:], ["categories": 7], ["categories": [7]], ["categories": [["id": ""]]],
      ["categories": [["id": "a"], ["id": "a"]]], ["categories": [["id": "a", "actions": [["id": "b"]]]]],
    ] as [JSON])
  func `the client rejects an invalid registry`(_ json: JSON) { #expect(CategoryRegistry(json) == nil) }

  @Test func `a declaration has the texts of the person's language`() throws {
    let declared = try #require(CategoryRegistry(Self.json)).declarations(for: ["de-AT", "en"])
    #expect(
      declared == [
        CategoryDeclaration(
          identifier: "invitation",
          actions: [
            .init(
              identifier: "accept", title: "Annehmen", options: [.foreground], icon: .system("checkmark"),
              textInput: nil),
            .init(
              identifier: "reply", title: "Reply", options: [],
              textInput: .init(button: "Send", placeholder: "Message")),
          ], hiddenPreviewsBodyPlaceholder: "An invitation", categorySummaryFormat: nil,
          options: [.customDismissAction])
      ])
  }

  @Test(arguments: [
    (["de"], "D"), (["de-AT"], "D"), (["pt-BR"], "B"), (["PT-br"], "B"), (["pt"], "*"), (["zh-Hant-TW"], "Z"),
    (["zh-Hans"], "*"), (["fr", "de"], "D"), ([], "*"), (["default"], "*"), (["de-x-private"], "D"),
  ])
  func `languages are looked up from the most to the least specific`(_ languages: [String], _ text: String) {
    let texts = LocalizedText.languages(["default": "*", "de": "D", "pt-BR": "B", "zh-Hant": "Z"])
    #expect(texts.text(for: languages) == text)
  }
}
