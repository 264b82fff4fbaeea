// SPDX-License-Identifier: Apache-2.0
import RelayHub
import RelayJSON
import RelayProtocol
import Testing

@testable import RelayFollowers
@testable import RelayRequests

@Suite struct CategoryFieldsTests {
  private func registry(_ categories: String) throws -> CategoryRegistry {
    let fields = try JSONParser(maxDepth: 128).parse(Array(#"{"categories":\#(categories)}"#.utf8))
    return try CategoryRegistry(version: 1, fields)
  }

  /// One category with the id `c`.
  private func category(_ members: String) throws -> NotificationCategory? {
    try registry(#"[{"id":"c",\#(members)}]"#)[CategoryID(unchecked: "c")]
  }

  private static let action = #""id":"a","title":"A""#

  @Test func `all fields of a category survive parsing, writing and parsing again`() throws {
    let read = try registry(
      """
      [{"id":"invitation","actions":[
          {"id":"accept","title":{"default":"Accept","pt-BR":"Aceitar"},"options":["foreground","authenticationRequired"],
            "icon":{"system":"checkmark"}},
          {"id":"reply","title":"Reply","options":["destructive"],"posts":true,
            "icon":{"template":"reply"},
            "textInput":{"button":"Send","placeholder":{"default":"…"}}}],
        "options":["customDismissAction","allowInCarPlay","hiddenPreviewsShowTitle","hiddenPreviewsShowSubtitle",
          "allowAnnouncement"],
        "hiddenPreviewBody":"An invitation","summaryFormat":{"default":"%u more"},"unknown":1},
       {"id":"empty"}]
      """)
    let expected = CategoryRegistry(
      version: 1,
      categories: [
        NotificationCategory(
          id: CategoryID(unchecked: "invitation"),
          actions: [
            NotificationAction(
              id: ActionID(unchecked: "accept"), title: .languages(["default": "Accept", "pt-BR": "Aceitar"]),
              options: [.foreground, .authenticationRequired], icon: .system("checkmark")),
            NotificationAction(
              id: ActionID(unchecked: "reply"), title: .text("Reply"), options: [.destructive],
              icon: .template("reply"),
              textInput: .init(button: .text("Send"), placeholder: .languages(["default": "…"])), posts: true),
          ], options: NotificationCategory.Option.allCases, hiddenPreviewBody: .text("An invitation"),
          summaryFormat: .languages(["default": "%u more"])),
        NotificationCategory(id: CategoryID(unchecked: "empty")),
      ])
    #expect(read == expected)
    #expect(try registry(String(decoding: read.categoriesJSON, as: UTF8.self)) == read)
  }

  @Test func `an empty hiddenPreviewBody counts as absent`() throws {
    #expect(try category(#""hiddenPreviewBody":"""#) == category(#""options":[]"#))
  }

  @Test(
    arguments: [
      ("1", ""), ("[1]", "/0"), ("[null]", "/0"), ("[{}]", "/0/id"), (#"[{"id":"a b"}]"#, "/0/id"),
      (#"[{"id":"c"},{"id":"c"}]"#, "/1/id"),
      (
        #"[{"id":"c","actions":[{\#(action)}]},{"id":"d","actions":[{"id":"b","title":"B"},{\#(action)}]}]"#,
        "/1/actions/1/id"
      ),
      (#"[{"id":"c","actions":[{\#(action)},{\#(action)}]}]"#, "/0/actions/1/id"),
    ])
  func `an error in a registry has its JSON pointer`(categories: String, pointer: String) throws {
    let error = try #require(throws: RequestError.self) { try registry(categories) }
    #expect((error.code, error.at) == (.badRequest, "/categories\(pointer)"))
  }

  @Test(
    arguments: [
      (#""actions":{}"#, "actions"), (#""actions":[1]"#, "actions/0"), (#""actions":[{"title":"A"}]"#, "actions/0/id"),
      (#""actions":[{"id":"a"}]"#, "actions/0/title"), (#""actions":[{"id":"a","title":" "}]"#, "actions/0/title"),
      (#""actions":[{"id":"a","title":1}]"#, "actions/0/title"),
      (#""actions":[{"id":"a","title":{"de":"A"}}]"#, "actions/0/title/default"),
      (#""actions":[{"id":"a","title":{"default":""}}]"#, "actions/0/title/default"),
      (#""actions":[{"id":"a","title":{"default":"A","de_DE":"A"}}]"#, "actions/0/title/de_DE"),
      (#""actions":[{"id":"a","title":{"default":"A","":"A"}}]"#, "actions/0/title/"),
      (#""actions":[{"id":"a","title":{"default":"A","1a":"A"}}]"#, "actions/0/title/1a"),
      (#""actions":[{"id":"a","title":{"default":"A","de":null}}]"#, "actions/0/title/de"),
      (#""actions":[{"id":"com.apple.UNNotificationDefaultActionIdentifier","title":"A"}]"#, "actions/0/id"),
      (#""actions":[{\#(action),"options":["loud"]}]"#, "actions/0/options/0"),
      (#""actions":[{\#(action),"options":["foreground","destructive","foreground"]}]"#, "actions/0/options/2"),
      (#""actions":[{\#(action),"options":"foreground"}]"#, "actions/0/options"),
      (#""actions":[{\#(action),"posts":true}]"#, "actions/0/posts"),
      (#""actions":[{\#(action),"posts":1}]"#, "actions/0/posts"),
      (#""actions":[{\#(action),"textInput":true}]"#, "actions/0/textInput"),
      (#""actions":[{\#(action),"textInput":{"button":"B"}}]"#, "actions/0/textInput/placeholder"),
      (#""actions":[{\#(action),"textInput":{"placeholder":"B"}}]"#, "actions/0/textInput/button"),
      (#""actions":[{\#(action),"icon":"checkmark"}]"#, "actions/0/icon"),
      (#""actions":[{\#(action),"icon":{}}]"#, "actions/0/icon"),
      (#""actions":[{\#(action),"icon":{"system":""}}]"#, "actions/0/icon"),
      (#""actions":[{\#(action),"icon":{"system":"a","template":"b"}}]"#, "actions/0/icon"),
      (#""actions":[{\#(action),"icon":{"name":"a"}}]"#, "actions/0/icon/name"),
      (#""options":["customDismissAction","quiet"]"#, "options/1"), (#""hiddenPreviewBody":1"#, "hiddenPreviewBody"),
      (#""summaryFormat":"""#, "summaryFormat"),
    ])
  func `an error in a category has its JSON pointer`(members: String, pointer: String) throws {
    let error = try #require(throws: RequestError.self) { try category(members) }
    #expect((error.code, error.at) == (.badRequest, "/categories/0/\(pointer)"), "\(members)")
  }

  @Test func `a stored registry is older than the rule for texts of one line`() throws {
    let json = #"""
      [{"id":"c","actions":[{"id":"a","title":"A\nB"},
        {"id":"b","title":{"default":"\u202e"},"textInput":{"button":"\u0007C","placeholder":"D\u2066"}}],
        "hiddenPreviewBody":"E\tF","summaryFormat":{"default":"G","de":"\u202eH"}}]
      """#
    #expect(throws: RequestError.self) { try registry(json) }
    let list = try #require(JSON(reading: Array(json.utf8)))
    let stored = try CategoryRegistry(version: 1, Fields(stored: ["categories": list]))
    let category = try #require(stored[CategoryID(unchecked: "c")])
    #expect(category.actions.map(\.title) == [.text("A B"), .languages(["default": "?"])])
    #expect(category.actions.last?.textInput == .init(button: .text("C"), placeholder: .text("D")))
    #expect(category.hiddenPreviewBody == .text("E F"))
    #expect(category.summaryFormat == .languages(["default": "G", "de": "H"]))
  }

  /// Fields with the maximum of their length in bytes, or of their count.
  private static let bounds: [(max: Int, members: @Sendable (Int) -> String)] = [
    (10, { count in #""actions":[\#((0..<count).map { #"{"id":"a\#($0)","title":"A"}"# }.joined(separator: ","))]"# }),
    (128, { #""actions":[{"id":"\#(text($0))","title":"A"}]"# }),
    (128, { #""actions":[{\#(action),"icon":{"system":"\#(text($0))"}}]"# }),
    (256, { #""actions":[{"id":"a","title":"\#(text($0))"}]"# }),
    (256, { #""actions":[{"id":"a","title":{"default":"A","de":"\#(text($0))"}}]"# }),
    (256, { #""actions":[{\#(action),"textInput":{"button":"\#(text($0))","placeholder":"P"}}]"# }),
    (256, { #""actions":[{\#(action),"textInput":{"button":"B","placeholder":"\#(text($0))"}}]"# }),
    (1_024, { #""hiddenPreviewBody":"\#(text($0))""# }), (1_024, { #""summaryFormat":"\#(text($0))""# }),
    (
      64,
      { count in
        let tags = (1..<count).map { #","x-\#($0)":"A""# }.joined()
        return #""hiddenPreviewBody":{"default":"A"\#(tags)}"#
      }
    ),
    (35, { #""hiddenPreviewBody":{"default":"A","\#(tag($0))":"A"}"# }),
  ]

  private static func text(_ length: Int) -> String { String(repeating: "a", count: length) }

  /// A language tag of this length in bytes.
  private static func tag(_ length: Int) -> String {
    String(("de" + String(repeating: "-abcdefgh", count: 9)).prefix(length))
  }

  @Test(arguments: bounds.indices)
  func `each field may have its maximum length and no more`(index: Int) throws {
    let (max, members) = Self.bounds[index]
    #expect(try category(members(max)) != nil)
    #expect(throws: RequestError.self, "\(index)") { try category(members(max + 1)) }
  }

  @Test func `a registry has at most 64 categories`() throws {
    func ids(_ count: Int) -> String { "[" + (0..<count).map { #"{"id":"c\#($0)"}"# }.joined(separator: ",") + "]" }
    #expect(try registry(ids(64)).categories.count == 64)
    #expect(throws: RequestError.self) { try registry(ids(65)) }
  }
}
