// SPDX-License-Identifier: Apache-2.0
import RelayJSON
import RelayProtocol
import Testing

@testable import RelayDelivery

/// The fields of `push` in a request: parsing, limits, rights, and the columns that store them.
@Suite struct PushFieldsTests {
  private func request(_ push: String, rights: Rights = .standard) throws -> PushRequest {
    let value = try #require(JSON(reading: Array(#"{"push":\#(push)}"#.utf8)))
    let fields = try Fields(value)
    return try #require(try PushRequest(fields, rights: rights))
  }

  /// The request as the store returns it.
  private func stored(_ request: PushRequest) -> PushRequest {
    PushRequest(
      storedRest: request.storedRest, kind: request.kind, category: request.style.category,
      collapse: request.style.collapse)
  }

  private func refusal(_ push: String, rights: Rights = .standard) throws -> RequestError {
    try #require(throws: RequestError.self) { try request(push, rights: rights) }
  }

  private static let readings: [(push: String, change: @Sendable (inout PushStyle) -> Void)] = [
    (#"{"title":"a"}"#, { $0.title = .text("a") }),
    (#"{"titleKey":"a"}"#, { $0.title = .localized(key: "a") }),
    (#"{"titleKey":"a","titleArgs":["b",""]}"#, { $0.title = .localized(key: "a", arguments: ["b", ""]) }),
    (#"{"subtitle":"a"}"#, { $0.subtitle = .text("a") }),
    (#"{"subtitleKey":"a","subtitleArgs":[]}"#, { $0.subtitle = .localized(key: "a") }),
    (#"{"body":" a "}"#, { $0.body = .text(" a ") }),
    (#"{"bodyKey":"a","bodyArgs":["b"]}"#, { $0.body = .localized(key: "a", arguments: ["b"]) }),
    (#"{"relevance":0}"#, { $0.relevance = 0 }), (#"{"relevance":0.25}"#, { $0.relevance = 0.25 }),
    (#"{"sound":"a.caf"}"#, { $0.sound = .file(SoundFile(name: "a.caf")) }),
    (#"{"sound":{"name":"a","volume":0.5}}"#, { $0.sound = .file(SoundFile(name: "a", volume: 0.5)) }),
    (#"{"badge":"auto"}"#, { $0.badge = .unread }), (#"{"badge":0}"#, { $0.badge = .number(0) }),
    (#"{"badge":1000000}"#, { $0.badge = .number(1_000_000) }), (#"{"badge":null}"#, { $0.badge = .unchanged }),
    (#"{"category":"reply.v2"}"#, { $0.category = CategoryID(unchecked: "reply.v2") }),
    (#"{"thread":"a b"}"#, { $0.thread = .own("a b") }), (#"{"thread":null}"#, { $0.thread = .app }),
    (#"{"target":"a"}"#, { $0.target = "a" }),
    (#"{"image":"HTTPS://a.example:8443/b?c#d"}"#, { $0.image = "HTTPS://a.example:8443/b?c#d" }),
    (
      #"{"data":{"b":[1.50,null,{"c":true}],"a":"é\u0000"}}"#,
      {
        $0.data = Array(#"{"a":"é\u0000","b":[1.50,null,{"c":true}]}"#.utf8)
      }
    ),
    (#"{"data":{}}"#, { _ in }), (#"{"collapse":"room"}"#, { $0.collapse = .room }),
    (#"{"sound":null}"#, { $0.sound = .none }),
    (#"{"communication":false}"#, { $0.isCommunication = false }),
    (#"{"communication":true}"#, { $0.isCommunication = true }),
    (#"{"title":null,"data":null,"communication":null,"image":null,"collapse":null,"bodyArgs":null}"#, { _ in }),
  ]

  @Test(arguments: readings.indices)
  func `each field is parsed, and restored from the store`(index: Int) throws {
    let (push, change) = Self.readings[index]
    var style = PushStyle()
    change(&style)
    let request = try request(push)
    #expect(request.style == style, "\(push)")
    #expect(stored(request) == request, "\(push)")
  }

  @Test func `the store keeps a silent push with its data`() throws {
    let request = try request(#"{"silent":true,"data":{"a":1},"expires":60,"criteria":"work"}"#)
    #expect(request.isSilent)
    #expect(stored(request) == request)
    #expect(try !self.request(#"{"silent":false,"title":"a"}"#).isSilent)
  }

  @Test func `the store keeps all fields together`() throws {
    let request = try request(
      #"""
      {"kind":"call","level":"critical","criteria":"work","expires":0.5e1,"title":"t","subtitleKey":"s","subtitleArgs":["x"],
      "body":"b","relevance":1,"sound":{"name":"n","volume":1,"critical":true},"badge":3,"category":"c","thread":null,
      "target":"w","image":"https://a.example/","data":{"k":{"l":[]}},"collapse":"room"}
      """#)
    #expect(request.style.sound == .file(SoundFile(name: "n", volume: 1, isCritical: true)))
    #expect(stored(request) == request)
  }

  @Test(arguments: [
    (#"{"title":""}"#, "/push/title"), (#"{"title":" \n"}"#, "/push/title"), (#"{"title":1}"#, "/push/title"),
    (#"{"title":"a\u0000"}"#, "/push/title"),
    (#"{"title":"a","titleKey":"b"}"#, "/push/titleKey"), (#"{"titleArgs":["b"]}"#, "/push/titleArgs"),
    (#"{"bodyKey":"a","bodyArgs":[1]}"#, "/push/bodyArgs/0"), (#"{"bodyKey":"a","bodyArgs":"b"}"#, "/push/bodyArgs"),
    (#"{"relevance":1.01}"#, "/push/relevance"), (#"{"relevance":-0.1}"#, "/push/relevance"),
    (#"{"relevance":"1"}"#, "/push/relevance"),
    (#"{"sound":""}"#, "/push/sound"), (#"{"sound":1}"#, "/push/sound"), (#"{"sound":{}}"#, "/push/sound/name"),
    (#"{"sound":{"name":"a","volume":1.1}}"#, "/push/sound/volume"),
    (#"{"sound":{"name":"a","critical":1}}"#, "/push/sound/critical"),
    (#"{"sound":{"name":"a","critical":true}}"#, "/push/sound/critical"),
    (#"{"badge":-1}"#, "/push/badge"), (#"{"badge":1000001}"#, "/push/badge"), (#"{"badge":1.5}"#, "/push/badge"),
    (#"{"badge":"1"}"#, "/push/badge"), (#"{"badge":true}"#, "/push/badge"),
    (#"{"category":"a b"}"#, "/push/category"), (#"{"category":""}"#, "/push/category"),
    (#"{"thread":""}"#, "/push/thread"), (#"{"target":""}"#, "/push/target"),
    (#"{"image":"http://a.example/"}"#, "/push/image"), (#"{"image":"https://"}"#, "/push/image"),
    (#"{"image":"https:///a"}"#, "/push/image"), (#"{"image":"https://a.example/b c"}"#, "/push/image"),
    (#"{"image":"https://a.example/é"}"#, "/push/image"), (#"{"image":"javascript:alert(1)"}"#, "/push/image"),
    (#"{"data":[]}"#, "/push/data"), (#"{"data":{"aps":1}}"#, "/push/data/aps"),
    (#"{"data":{"communication":1}}"#, "/push/data/communication"), (#"{"data":{"message":1}}"#, "/push/data/message"),
    (#"{"data":{"image":1}}"#, "/push/data/image"), (#"{"data":{"thread-id":1}}"#, "/push/data/thread-id"),
    (#"{"data":{"title-loc-key":1}}"#, "/push/data/title-loc-key"), (#"{"data":{"badge":1}}"#, "/push/data/badge"),
    (#"{"silent":1}"#, "/push/silent"), (#"{"silent":true,"title":"a"}"#, "/push/title"),
    (#"{"silent":true,"level":"active"}"#, "/push/level"), (#"{"silent":true,"badge":null}"#, "/push/badge"),
    (#"{"kind":"call","communication":false}"#, "/push/communication"),
    (#"{"sound":{"name":"a","volum":1}}"#, "/push/sound/volum"), (#"{"unknown":1}"#, "/push/unknown"),
    (#"{"isUrgentAllowed":true}"#, "/push/isUrgentAllowed"), (#"{"a/b~":1}"#, "/push/a~1b~0"),
    (#"{"data":{"push":1}}"#, "/push/data/push"), (#"{"data":{"read":1}}"#, "/push/data/read"),
    (#"{"data":{"removed":1}}"#, "/push/data/removed"), (#"{"data":{"tag":1}}"#, "/push/data/tag"),
    (#"{"data":{"a":{"aps":{}}}}"#, "/push/data/a/aps"), (#"{"collapse":"thread"}"#, "/push/collapse"),
  ])
  func `an error names the position of the wrong field`(push: String, pointer: String) throws {
    let error = try refusal(push)
    #expect((error.code, error.at) == (.badRequest, pointer))
  }

  @Test(arguments: [
    ("titel", "title"), ("Sound", "sound"), ("bdage", "badge"), ("levle", "level"), ("expire", "expires"),
    ("colapse", "collapse"), ("critera", "criteria"), ("slient", "silent"),
  ])
  func `the error for a misspelled field suggests the right name`(name: String, meant: String) throws {
    let error = try refusal(#"{"\#(name)":null}"#)
    #expect((error.code, error.at) == (.badRequest, "/push/\(name)"))
    #expect(error.message.hasSuffix("did you mean \(meant)?"))
  }

  @Test(arguments: [
    ("title", 1_024), ("subtitle", 1_024), ("body", 4_096), ("titleKey", 256), ("subtitleKey", 256), ("bodyKey", 256),
    ("sound", 128), ("category", 128), ("thread", 255), ("target", 1_024),
  ])
  func `a text of the maximum length is accepted, and a longer one is rejected`(field: String, maxLength: Int) throws {
    _ = try request(#"{"\#(field)":"\#(String(repeating: "a", count: maxLength))"}"#)
    let error = try refusal(#"{"\#(field)":"\#(String(repeating: "a", count: maxLength + 1))"}"#)
    #expect((error.code, error.at) == (.badRequest, "/push/\(field)"))
  }

  @Test func `an image, arguments and data have limits`() throws {
    let host = "https://a.example/"
    _ = try request(#"{"image":"\#(host)\#(String(repeating: "a", count: 2_048 - host.utf8.count))"}"#)
    #expect(try refusal(#"{"image":"\#(host)\#(String(repeating: "a", count: 2_048))"}"#).at == "/push/image")
    func list(_ count: Int, _ item: String) -> String { Array(repeating: item, count: count).joined(separator: ",") }
    _ = try request(#"{"bodyKey":"a","bodyArgs":[\#(list(16, #""x""#))]}"#)
    #expect(try refusal(#"{"bodyKey":"a","bodyArgs":[\#(list(17, #""x""#))]}"#).at == "/push/bodyArgs")
    let long = String(repeating: "x", count: 513)
    #expect(try refusal(#"{"bodyKey":"a","bodyArgs":["\#(long)"]}"#).at == "/push/bodyArgs/0")
    func data(_ bytes: Int) -> String { #"{"data":{"a":"\#(String(repeating: "x", count: bytes - 8))"}}"# }
    _ = try request(data(3_072))
    #expect(try refusal(data(3_073)).at == "/push/data")
    func nested(_ depth: Int) -> String {
      #"{"data":{"a":\#(String(repeating: "[", count: depth - 1))\#(String(repeating: "]", count: depth - 1))}}"#
    }
    _ = try request(nested(16))
    #expect(try refusal(nested(17)).at == "/push/data")
  }

  @Test(arguments: PushStyle.keys + ["silent"])
  func `each custom field needs the right push`(field: String) throws {
    let error = try refusal(#"{"\#(field)":null}"#, rights: Rights.standard.subtracting(.push))
    #expect((error.code, error.at) == (.forbidden, "/push/\(field)"))
  }

  @Test func `a standard field needs no right`() throws {
    let push = #"{"kind":"message","level":"passive","criteria":"a","expires":60}"#
    #expect(try request(push, rights: Rights.standard.subtracting(.push)).level == .passive)
  }

  // MARK: Where it is sent

  private func check(
    _ push: String, room: String = "tea", hasPreview: Bool = true, maxSize: Int = Push.maxPayload
  ) throws {
    try request(push).check(
      sender: UserID(unchecked: "ann"), room: RoomID(unchecked: room), hasPreview: hasPreview, maxSize: maxSize)
  }

  @Test func `a long body is accepted, and a long field that cannot be shortened is rejected`() throws {
    try check(#"{"body":"\#(String(repeating: "é", count: 2_048))"}"#)
    try check(#"{"title":"\#(String(repeating: "a", count: 1_024))"}"#)
    let error = try #require(throws: RequestError.self) {
      try check(#"{"data":{"a":"\#(String(repeating: "x", count: 3_000))"}}"#)
    }
    #expect((error.code, error.at) == (.tooLarge, "/push"))
  }

  @Test func `the size limit depends on the gateways`() throws {
    let push = #"{"data":{"a":"\#(String(repeating: "x", count: 1_900))"}}"#
    try check(push)
    let error = try #require(throws: RequestError.self) { try check(push, maxSize: 3_000) }
    #expect(error.code == .tooLarge && error.message.hasSuffix("3000 are allowed"))
  }

  @Test(arguments: [
    (#"{"title":"a"}"#, "/push/title"), (#"{"subtitleKey":"a","subtitleArgs":["b"]}"#, "/push/subtitleArgs"),
    (#"{"titleKey":"a","body":"b"}"#, "/push/body"),
  ])
  func `a room without previews rejects texts`(push: String, pointer: String) throws {
    let error = try #require(throws: RequestError.self) { try check(push, hasPreview: false) }
    #expect((error.code, error.at) == (.forbidden, pointer))
    try check(push)
  }

  @Test func `a room without previews accepts keys and data`() throws {
    try check(#"{"titleKey":"a","bodyKey":"b","data":{"cipher":"x"},"sound":"default"}"#, hasPreview: false)
  }
}
