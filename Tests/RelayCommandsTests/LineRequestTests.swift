// SPDX-License-Identifier: Apache-2.0
import RelayIdentity
import RelayJSON
import RelayProtocol
import RelayStore
import TestRelay
import Testing

@testable import RelayCommands
@testable import RelayRequests

/// The rule for texts of one line, in each request that has such a text.
@Suite struct LineRequestTests {
  private static let bad = ["a\nb", "a\r", "\u{7}", "a\u{85}", "a\u{2028}b", "\u{202E}a", "\u{2066}a\u{2069}"]
  private static let tea: [String: JSON] = ["room": .string("tea")]

  /// The commands with the members of a request. `@` is the text of one line, at the JSON pointer.
  private static let fields: [(command: any Command.Type, pointer: String, members: String)] = [
    (CreateRoom.self, "/title", #"{"owner":"ann","title":@}"#),
    (UpdateRoom.self, "/title", #"{"room":"tea","title":@}"#),
    (React.self, "/key", #"{"room":"tea","seq":1,"key":@}"#),
    (PostMessage.self, "/push/title", #"{"room":"tea","body":1,"push":{"title":@}}"#),
    (PostMessage.self, "/push/subtitle", #"{"room":"tea","body":1,"push":{"subtitle":@}}"#),
    (PostMessage.self, "/push/titleKey", #"{"room":"tea","body":1,"push":{"titleKey":@}}"#),
    (PostMessage.self, "/push/bodyKey", #"{"room":"tea","body":1,"push":{"bodyKey":@}}"#),
    (PostMessage.self, "/push/titleArgs/0", #"{"room":"tea","body":1,"push":{"titleKey":"k","titleArgs":[@]}}"#),
    (
      PostMessage.self, "/push/subtitleArgs/1",
      #"{"room":"tea","body":1,"push":{"subtitleKey":"k","subtitleArgs":["a",@]}}"#
    ),
    (NotifyUser.self, "/push/title", #"{"user":"bob","push":{"title":@}}"#),
    (Ring.self, "/push/title", #"{"room":"tea","push":{"title":@}}"#),
    (
      SetCategories.self, "/categories/0/hiddenPreviewBody",
      #"{"categories":[{"id":"c","hiddenPreviewBody":@}]}"#
    ),
    (
      SetCategories.self, "/categories/0/summaryFormat/default",
      #"{"categories":[{"id":"c","summaryFormat":{"default":@}}]}"#
    ),
    (
      SetCategories.self, "/categories/0/actions/0/title",
      #"{"categories":[{"id":"c","actions":[{"id":"a","title":@}]}]}"#
    ),
    (
      SetCategories.self, "/categories/0/actions/0/textInput/button",
      #"{"categories":[{"id":"c","actions":[{"id":"a","title":"A","textInput":{"button":@,"placeholder":"p"}}]}]}"#
    ),
    (
      SetCategories.self, "/categories/0/actions/0/textInput/placeholder",
      #"{"categories":[{"id":"c","actions":[{"id":"a","title":"A","textInput":{"button":"b","placeholder":@}}]}]}"#
    ),
  ]

  private func members(_ template: String, _ text: String) throws -> [String: JSON] {
    var writer = JSONWriter()
    writer.string(text)
    let json = template.replacing("@", with: String(decoding: writer.bytes, as: UTF8.self))
    var members = try Fields(#require(JSON(reading: Array(json.utf8)))).members
    if members["body"] != nil { members["body"] = .raw(Array("1".utf8)) }
    return members
  }

  private func prepare(_ test: TestRelay) async throws {
    for user in ["ann", "bob"] {
      _ = try await test.perform(AddMember.self, as: "ann", ["room": .string("tea"), "user": .string(user)])
    }
    _ = try await test.perform(PostMessage.self, as: "ann", members(#"{"room":"tea","body":1}"#, ""))
  }

  @Test(arguments: fields.indices)
  func `a field of one line refuses other texts`(index: Int) async throws {
    let (command, pointer, template) = Self.fields[index]
    try await TestRelay.run { test async throws in
      try await prepare(test)
      for text in Self.bad {
        do {
          _ = try await test.perform(command, as: "ann", members(template, text))
          Issue.record("\(command) accepts \(text.debugDescription)")
        } catch {
          let error = RequestError(known: error)
          #expect(error?.code == .badRequest && error?.at == pointer, "\(command) \(pointer)")
          #expect(error?.message.hasSuffix(String.mustBeLine) == true, "\(command) \(pointer)")
        }
      }
      _ = try await test.perform(command, as: "ann", members(template, "👩‍👩‍👧‍👦\u{200F}"))
    }
  }

  @Test(arguments: ["name", "handle", "handleType", "text", "emoji"])
  func `a field of a profile or of a status refuses other texts`(key: String) throws {
    let isStatus = key == "text" || key == "emoji"
    for text in Self.bad {
      let fields = Fields(["handle": JSON.string("1")].merging([key: .string(text)]) { $1 })
      let error = #expect(throws: RequestError.self) {
        _ =
          try isStatus ? UserStatus(fields)?.text : fields.profile(of: UserID(unchecked: "ann"), hasAddress: true).name
      }
      #expect(error?.at == "/\(key)" && error?.message == "\(key) \(String.mustBeLine)")
    }
  }

  @Test func `a text of several lines is fine in a body`() async throws {
    try await TestRelay.run { test async throws in
      try await prepare(test)
      for push in [#"{"body":@}"#, #"{"bodyKey":"k","bodyArgs":[@]}"#] {
        let message = try members(#"{"room":"tea","body":1,"push":\#(push)}"#, "a\n\u{202E}b")
        _ = try await test.perform(PostMessage.self, as: "ann", message)
      }
    }
  }

  @Test func `a stored title is shown as a line, and another field of the room changes`() async throws {
    try await TestRelay.run { test async throws in
      try await prepare(test)
      _ = try await test.perform(UpdateRoom.self, as: "ann", Self.tea.merging(["title": .string("Tea")]) { $1 })
      try await test.execute("UPDATE details SET title = 'Tea' || char(10) || 'time' || char(0x202E)")
      let room = try await test.perform(GetRoom.self, as: "ann", Self.tea)
      #expect(room.body?["title"] == .string("Tea time"))
      let metadata: [String: JSON] = ["metadata": .object([:])]
      let changed = try await test.perform(UpdateRoom.self, as: "ann", Self.tea.merging(metadata) { $1 })
      #expect(changed.status == 200 && changed.body?["title"] == .string("Tea time"))
    }
  }
}
