// SPDX-License-Identifier: Apache-2.0
import RelayIdentity
import RelayJSON
import RelayProtocol
import TestRelay
import Testing

@testable import RelayCommands
@testable import RelayRequests

/// Requests that are JSON but wrong: the error names the field.
@Suite struct BadFieldsTests {
  /// Requests of one operation: the members of the path, the members that all of them have, and wrong ones with the
  /// pointer in the error.
  private typealias Group = (name: String, path: String, members: String, wrong: [(members: String, pointer: String)])

  private static let groups: [Group] = [
    (
      "setPreferences", #""user":"me""#, "",
      [
        (#""onFocus":"never""#, "/onFocus"), (#""onFocus":true"#, "/onFocus"), (#""shareFocus":"all""#, "/shareFocus"),
        (#""shareOnline":"friends""#, "/shareOnline"), (#""rooms":[]"#, "/rooms"),
        (#""rooms":{"no room":{}}"#, "/rooms/no room"),
        (#""rooms":{"":{}}"#, "/rooms/"), (#""rooms":{"\#(x(256))":{}}"#, "/rooms/\(x(256))"),
        (#""rooms":{"tea":"none"}"#, "/rooms/tea"),
        (#""rooms":{"~a~":{"level":"some"}}"#, "/rooms/~0a~0/level"),
        (#""rooms":{"tea":{"level":"some"}}"#, "/rooms/tea/level"),
        (#""rooms":{"tea":{"level":"none","until":"later"}}"#, "/rooms/tea/until"),
        (#""rooms":{"tea":{"level":"none","until":-1}}"#, "/rooms/tea/until"),
        (#""rooms":{"tea":{"level":"none","until":9007199254740992}}"#, "/rooms/tea/until"),
        (#""rooms":{"tea":{"criteria":"\#(x(129))"}}"#, "/rooms/tea/criteria"),
        (#""rooms":{"tea":{"criteria":7}}"#, "/rooms/tea/criteria"),
        (#""quietHours":true"#, "/quietHours"), (#""quietHours":{}"#, "/quietHours/from"),
        (hours(#""from":"24:00""#), "/quietHours/from"), (hours(#""from":"7:00""#), "/quietHours/from"),
        (hours(#""from":"07:60""#), "/quietHours/from"), (hours(#""from":"0700""#), "/quietHours/from"),
        (hours(#""from":"""#), "/quietHours/from"), (hours(#""to":"-1:00""#), "/quietHours/to"),
        (hours(#""to":"07:00:00""#), "/quietHours/to"), (hours(#""to":7"#), "/quietHours/to"),
        (hours(#""to":null"#), "/quietHours/to"), (hours(#""to":"०७:००""#), "/quietHours/to"),
        (hours(#""days":[]"#), "/quietHours/days"), (hours(#""days":[0]"#), "/quietHours/days/0"),
        (hours(#""days":[8]"#), "/quietHours/days/0"), (hours(#""days":[1.5]"#), "/quietHours/days/0"),
        (hours(#""days":"1""#), "/quietHours/days"), (hours(#""days":[1,2,3,4,5,6,7,1]"#), "/quietHours/days"),
        (hours(#""timeZone":"Mars/Olympus""#), "/quietHours/timeZone"),
        (hours(#""timeZone":"+02:00""#), "/quietHours/timeZone"),
        (hours(#""timeZone":"europe/berlin""#), "/quietHours/timeZone"),
        (hours(#""timeZone":"""#), "/quietHours/timeZone"),
        (hours(#""timeZone":"CEST""#), "/quietHours/timeZone"), (hours(#""timeZone":1"#), "/quietHours/timeZone"),
        (hours(#""timeZone":"../etc/passwd""#), "/quietHours/timeZone"),
        (hours(#""timeZone":"\#(x(65))""#), "/quietHours/timeZone"), (hours(#""mode":"deliver""#), "/quietHours/mode"),
        (hours(#""mode":"silent""#), "/quietHours/mode"), (hours(#""mode":null"#), "/quietHours/mode"),
      ]
    ),
    (
      "registerDevice", #""user":"me""#, #""device":"d","platform":"simulator","token":"t""#,
      [
        (#""device":null"#, "/device"), (#""device":"a phone""#, "/device"), (#""device":"a/b""#, "/device"),
        (#""device":"\#(x(129))""#, "/device"), (#""platform":null"#, "/platform"),
        (#""platform":"pigeon""#, "/platform"),
        (#""platform":5"#, "/platform"), (#""token":7"#, "/token"), (#""voipToken":7"#, "/voipToken"),
        (#""voipToken":"\#(x(4097))""#, "/voipToken"), (#""criteria":"\#(x(129))""#, "/criteria"),
        (#""criteria":["home"]"#, "/criteria"), (#""settings":"all""#, "/settings"),
        (#""settings":{"alerts":"yes"}"#, "/settings/alerts"),
        (#""settings":{"timeSensitive":1}"#, "/settings/timeSensitive"),
        (#""locale":"\#(x(65))""#, "/locale"), (#""timeZone":1"#, "/timeZone"),
        (#""timeZone":"\#(x(65))""#, "/timeZone"),
        (#""app":"\#(x(256))""#, "/app"), (#""app":"a\u0000b""#, "/app"),
      ]
    ),
    ("registerDevice", #""user":"me""#, #""device":"d","platform":"simulator""#, [("", "/token")]),
    (
      "reportFilter", #""user":"me""#, #""active":true,"allow":["work"],"device":"phone""#,
      [
        (#""allow":[\#(names(65))]"#, "/allow"), (#""allow":[\#(names(10_000))]"#, "/allow"),
        (#""allow":["\#(x(129))"]"#, "/allow/0"), (#""allow":["\#(x(127))é"]"#, "/allow/0"),
        (#""allow":"home""#, "/allow"),
        (#""allow":["home",7]"#, "/allow/1"), (#""active":null"#, "/active"), (#""active":"yes""#, "/active"),
        (#""device":"a phone""#, "/device"), (#""at":"now""#, "/at"), (#""at":-1"#, "/at"),
        (#""at":9007199254740992"#, "/at"), (#""number":1.5"#, "/number"), (#""number":-1"#, "/number"),
        (#""number":9007199254740992"#, "/number"),
      ]
    ),
    ("reportFocus", #""user":"me""#, "", [("", "/isFocused")]),
    (
      "reportFocus", #""user":"me""#, #""isFocused":true"#,
      [
        (#""isFocused":"true""#, "/isFocused"), (#""isFocused":1"#, "/isFocused"),
        (#""authorization":"maybe""#, "/authorization"), (#""authorization":1"#, "/authorization"),
        (#""device":"a b""#, "/device"), (#""device":"\#(x(129))""#, "/device"), (#""at":"now""#, "/at"),
        (#""at":0.5"#, "/at"), (#""number":"1""#, "/number"), (#""number":1.5"#, "/number"),
        (#""source":"hearsay""#, "/source"),
      ]
    ),
    (
      "setStatus", #""user":"me""#, "",
      [
        (#""text":1"#, "/text"), (#""text":"a\nb""#, "/text"), (#""text":"x","until":1"#, "/until"),
        (#""until":9000000000000"#, "/until"), (#""text":"","until":9000000000000"#, "/until"),
      ]
    ),
    (
      "setProfile", #""user":"ann""#, "",
      [
        (#""avatar":"http://example.org/a.png""#, "/avatar"), (#""avatar":"a.png""#, "/avatar"),
        (#""avatarSHA256":"\#(hash)""#, "/avatarSHA256"),
        (#""avatar":"https://example.org/a.png","avatarSHA256":"\#(hash.uppercased())""#, "/avatarSHA256"),
        (#""handleType":"phoneNumber""#, "/handleType"), (#""handle":"\#(x(257))""#, "/handle"),
        (#""name":"\#(x(257))""#, "/name"), (#""nmae":"x""#, "/nmae"),
      ]
    ),
    (
      "setAccess", #""user":"ann""#, "",
      [
        (#""suspended":true,"until":1"#, "/until"), (#""until":9000000000000"#, "/until"),
        (#""reason":"spam""#, "/reason"),
        (#""suspended":true,"reason":"\#(x(113))""#, "/reason"), (#""suspended":"yes""#, "/suspended"),
      ]
    ),
    (
      "decide", "", #""room":"tea","from":"ann","user":"bob""#,
      [
        (#""room":null"#, "/room"), (#""room":"no room""#, "/room"), (#""from":null"#, "/from"),
        (#""from":"me""#, "/from"),
        (#""user":null"#, "/user"), (#""user":7"#, "/user"), (#""mentions":"bob""#, "/mentions"),
        (#""replyTo":99"#, "/replyTo"), (#""push":{"level":"loud"}"#, "/push/level"),
      ]
    ),
    ("setCategories", "", "", [("", "/categories"), (#""categories":{}"#, "/categories")]),
    ("setCategories", "", #""categories":[]"#, [(#""version":-1"#, "/version")]),
    (
      "notifyUser", #""user":"bob""#, #""from":"ann","push":{"body":"hi"}"#,
      [
        (#""push":null"#, "/push"), (#""push":false"#, "/push"), (#""push":"hi""#, "/push"),
        (#""push":{"expires":0}"#, "/push/expires"), (#""push":{"data":{"x":"\#(x(5000))"}}"#, "/push/data"),
        (#""from":"a b""#, "/from"), (#""key":"""#, "/key"),
      ]
    ),
    (
      "createRoom", "", "",
      [
        (#""avatar":"http://example.org/a.png""#, "/avatar"), (#""title":"\#(x(257))""#, "/title"),
        (#""metadata":{"a":"\#(x(4096))"}"#, "/metadata"), (#""metadata":[]"#, "/metadata"),
        (#""members":[\#(names(101))]"#, "/members"), (#""kind":"direct""#, "/members"),
        (#""kind":"direct","members":["bob"],"title":"Us""#, "/title"), (#""join":"closed""#, "/join"),
      ]
    ),
    (
      "sendMessage", #""room":"tea""#, #""body":1"#,
      [
        (#""mentions":"bob""#, "/mentions"), (#""mentions":[7]"#, "/mentions/0"),
        (#""mentions":["no name"]"#, "/mentions/0"),
        (#""mentions":["\#(x(129))"]"#, "/mentions/0"), (#""mentions":[\#(names(257))]"#, "/mentions"),
        (#""replyTo":0"#, "/replyTo"), (#""replyTo":2"#, "/replyTo"), (#""replyTo":"1""#, "/replyTo"),
        (#""report":1"#, "/report"), (#""push":"yes""#, "/push"), (#""push":{"kind":"letter"}"#, "/push/kind"),
        (#""push":{"level":"loud"}"#, "/push/level"), (#""push":{"level":"time-sensitive"}"#, "/push/level"),
        (#""push":{"criteria":"\#(x(129))"}"#, "/push/criteria"), (#""push":{"expires":0}"#, "/push/expires"),
        (#""push":{"expires":-1}"#, "/push/expires"), (#""push":{"expires":"1"}"#, "/push/expires"),
        (#""push":{"expires":2419201}"#, "/push/expires"), (#""push":{"kind":"invitation"}"#, "/push/kind"),
        (#""key":5"#, "/key"), (#""key":"\#(x(129))""#, "/key"), (#""key":"a\u0000b""#, "/key"),
      ]
    ),
    ("sendMessage", #""room":"tea""#, "", [("", "/body")]),
    (
      "ring", #""room":"tea""#, "",
      [
        (#""media":"smell""#, "/media"), (#""push":{"expires":601}"#, "/push"), (#""push":false"#, "/push"),
        (#""push":{"silent":true}"#, "/push"),
      ]
    ),
    (
      "notify", #""room":"tea""#, #""seq":1"#,
      [
        (#""seq":null"#, "/seq"), (#""seq":0"#, "/seq"), (#""seq":-1"#, "/seq"), (#""seq":1.5"#, "/seq"),
        (#""seq":"1""#, "/seq"), (#""seq":9007199254740992"#, "/seq"),
        (#""users":"bob""#, "/users"), (#""users":[7]"#, "/users/0"), (#""users":["no name"]"#, "/users/0"),
        (#""users":["me"]"#, "/users/0"), (#""users":{}"#, "/users"), (#""users":[\#(names(257))]"#, "/users"),
      ]
    ),
    (
      "history", "", #""room":"tea""#,
      [
        (#""room":null"#, "/room"), (#""limit":301"#, "/limit"), (#""limit":-1"#, "/limit"),
        (#""limit":"x""#, "/limit"),
        (#""before":"x""#, "/before"), (#""after":0.5"#, "/after"), (#""before":2,"after":0"#, "/before"),
      ]
    ),
    (
      "presence", "", "",
      [
        ("", "/users"), (#""users":"bob""#, "/users"), (#""users":[5]"#, "/users/0"),
        (#""users":["bob","a b"]"#, "/users/1"), (#""users":["\#(x(129))"]"#, "/users/0"),
        (#""users":[\#(names(257))]"#, "/users"),
      ]
    ),
    (
      "rooms", #""user":"me""#, "",
      [
        (#""limit":0"#, "/limit"), (#""limit":101"#, "/limit"), (#""after":"x""#, "/after"),
        (#""since":"0.7.5""#, "/since"),
        (#""since":"\#(x(129))""#, "/since"), (#""after":"0.7","since":"0.7""#, "/after"),
        (#""preview":"all""#, "/preview"),
      ]
    ),
    (
      "listPushes", "", "",
      [
        (#""state":"lost""#, "/state"), (#""state":"""#, "/state"), (#""limit":0"#, "/limit"),
        (#""limit":101"#, "/limit"),
        (#""after":"none""#, "/after"), (#""after":"\#(x(65))""#, "/after"), (#""user":"a b""#, "/user"),
      ]
    ),
    (
      "listSessions", #""user":"ann""#, "",
      [
        (#""limit":101"#, "/limit"), (#""limit":0"#, "/limit"), (#""after":"!""#, "/after"),
        (#""after":"\#(x(33))""#, "/after"),
      ]
    ),
    ("listDevices", #""user":"ann""#, "", [(#""limit":101"#, "/limit"), (#""after":" ""#, "/after")]),
    (
      "listMembers", #""room":"tea""#, "",
      [(#""limit":0"#, "/limit"), (#""limit":101"#, "/limit"), (#""after":"a b""#, "/after")]
    ),
    (
      "exportUser", #""user":"ann""#, "",
      [
        (#""limit":0"#, "/limit"), (#""limit":1001"#, "/limit"), (#""cursor":"x""#, "/cursor"),
        (#""cursor":"z.1.1.1""#, "/cursor"), (#""cursor":"s.1.-1.1""#, "/cursor"), (#""cursor":"s.1.1""#, "/cursor"),
        (#""cursor":"\#(x(65))""#, "/cursor"),
      ]
    ),
    ("eraseUser", #""user":"ann""#, "", [("", "/messages"), (#""messages":"keep""#, "/messages")]),
  ]

  private static let hash = String(repeating: "0f", count: 32)

  private static func x(_ count: Int) -> String { String(repeating: "x", count: count) }

  private static func names(_ count: Int) -> String { (0..<count).map { #""u\#($0)""# }.joined(separator: ",") }

  /// Quiet hours with another member.
  private static func hours(_ member: String) -> String {
    let all = [
      #""from":"22:00""#, #""to":"07:30""#, #""days":[1,5]"#, #""timeZone":"Europe/Berlin""#, #""mode":"hold""#,
    ]
    let key = member.prefix { $0 != ":" } + ":"
    return #""quietHours":{\#((all.filter { !$0.hasPrefix(key) } + [member]).joined(separator: ","))}"#
  }

  private static func members(_ text: String) throws -> [String: JSON] {
    var members = try Fields(#require(JSON(reading: Array("{\(text)}".utf8)))).members
    if members["body"] != nil { members["body"] = .raw(Array("1".utf8)) }
    return members
  }

  @Test(arguments: groups.indices)
  func `a wrong field is refused with its position`(index: Int) async throws {
    let (name, path, base, wrong) = Self.groups[index]
    let command = try #require(Commands.all.first { $0.operation == name || $0.declaration.frame == name })
    try await TestRelay.run { test async throws in
      let ann = UserID(unchecked: "ann")
      for user in ["ann", "bob"] {
        _ = try await test.perform(AddMember.self, as: "ann", ["room": .string("tea"), "user": .string(user)])
      }
      _ = try await test.perform(PostMessage.self, as: "ann", Self.members(#""room":"tea","body":1"#))
      let anything = Grant(match: try #require(Glob("*")), can: Rights.named.reduce(into: []) { $0.insert($1.right) })
      let user = Caller.user(
        Identity(user: User(id: ann), permissions: Permissions(grants: [anything], watch: [], account: .all)))
      let caller = command.declaration.callers == .backend ? Caller.backend(acting: ann) : user
      for (members, pointer) in wrong {
        let all = try Self.members(base).merging(Self.members(members)) { $1 }
        try await refuses(test, command, by: caller, all, path, at: pointer, "\(name) \(members)")
      }
    }
  }

  @Test func `a backend that acts for nobody names the sender`() async throws {
    try await TestRelay.run { test async throws in
      let member: [String: JSON] = ["room": .string("tea"), "user": .string("ann")]
      _ = try await test.perform(AddMember.self, as: "ann", member)
      for name in ["a b", nil] {
        let from = ["from": name.map { JSON.string($0) } ?? .null]
        for (command, path, members) in [
          (PostMessage.self as any Command.Type, #""room":"tea""#, #""body":1"#),
          (NotifyUser.self, #""user":"bob""#, #""push":{"body":"hi"}"#),
        ] {
          let all = try Self.members(members).merging(from) { $1 }
          try await refuses(
            test, command, by: .backend(acting: nil), all, path, at: "/from", "\(command) \(name ?? "null")")
        }
      }
    }
  }

  private func refuses(
    _ test: TestRelay, _ command: any Command.Type, by caller: Caller, _ members: [String: JSON], _ path: String,
    at pointer: String, _ comment: Comment
  ) async throws {
    do {
      _ = try await test.perform(command, by: caller, members, path: Self.members(path))
      Issue.record("accepted: \(comment)")
    } catch {
      let error = RequestError(known: error)
      #expect(error?.code == .badRequest, comment)
      #expect(error?.at == pointer, comment)
    }
  }
}
