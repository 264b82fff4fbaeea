// SPDX-License-Identifier: Apache-2.0
// Tests push payloads in the Swift client: parsing, the intent's fields, and arrival receipts.
import RelayProtocol
import Testing

@testable import StillwireExtension

@Suite struct PayloadTests {
  /// A payload as the relay writes it, see Tests/RelayDeliveryTests/PayloadTests.swift.
  private static let direct = """
    {"aps":{"alert":{"title":"Ann","body":"Kettle is on"},"mutable-content":1},
    "communication":{"kind":"message","sender":{"id":"ann","name":"Ann","handle":"+43 1 234","handleType":"phone",
    "avatar":"https://example.org/ann.png"},"conversation":{"id":"tea","group":false},"mentionsMe":false,
    "replyToMe":true,"notifyAnyway":true,"notification":"dd03c85b-fe98-48f9-98b0-2da51fbeeed8","receipt":"r1"},
    "message":{"room":"tea","epoch":"e1","seq":7}}
    """

  private func payload(_ communication: String, aps: String = "{}") -> CommunicationPayload? {
    CommunicationPayload(reading: #"{"aps":\#(aps),"communication":\#(communication)}"#.utf8)
  }

  @Test func `the client parses all members of a payload`() {
    #expect(
      CommunicationPayload(reading: Self.direct.utf8)
        == CommunicationPayload(
          sender: PayloadPerson(
            id: "ann", name: "Ann", handle: "+43 1 234", handleType: "phone", avatar: "https://example.org/ann.png"),
          conversation: PayloadConversation(id: "tea"), repliesToMe: true, isNotifyAnyway: true,
          notification: "dd03c85b-fe98-48f9-98b0-2da51fbeeed8", receipt: "r1",
          message: MessageReference(room: "tea", seq: 7), epoch: "e1", text: "Kettle is on"))
  }

  @Test(arguments: [
    "{}", #"{"sender":{"id":""},"conversation":{"id":"tea"}}"#, #"{"sender":{"id":"ann"}}"#,
    #"{"sender":"ann","conversation":{"id":"tea"}}"#, "7", "null",
  ])
  func `a payload without a sender or a conversation is rejected`(_ communication: String) {
    #expect(payload(communication) == nil)
  }

  @Test func `a text that is not a payload is rejected`() {
    #expect(CommunicationPayload(reading: "{".utf8) == nil)
    let large = Self.direct.dropLast() + #","more":"\#(String(repeating: "x", count: 5_120))"}"#
    #expect(CommunicationPayload(reading: large.utf8) == nil)
  }

  @Test func `an empty handle is ignored`() {
    let push = payload(#"{"sender":{"id":"ann","handle":"","handleType":"phone"},"conversation":{"id":"tea"}}"#)
    #expect(push?.sender == PayloadPerson(id: "ann", name: "ann"))
  }

  /// Payloads, and the expected fields of their intents.
  static let table: [(String, IntentFields)] = [
    (
      #"{"kind":"message","sender":{"id":"ann","name":"Ann"},"conversation":{"id":"tea","group":false}}"#,
      .sendMessage(message(sender: "Ann"))
    ),
    (
      #"{"sender":{"id":"ann","name":"Ann"},"conversation":{"id":"tea","group":true,"recipientCount":3,"name":"Tea","avatar":"https://example.org/tea.png"}}"#,
      .sendMessage(message(sender: "Ann", count: 3, group: "Tea", image: "https://example.org/tea.png"))
    ),
    // A direct message must not have a count or a name, because the system would show it as a group.
    (
      #"{"sender":{"id":"ann","name":"Ann"},"conversation":{"id":"tea","group":false,"recipientCount":3,"name":"Tea"}}"#,
      .sendMessage(message(sender: "Ann"))
    ),
    (
      #"{"sender":{"id":"ann","name":"Ann"},"conversation":{"id":"tea","group":true,"recipientCount":-1}}"#,
      .sendMessage(message(sender: "Ann"))
    ),
    (
      #"{"sender":{"id":"ann"},"conversation":{"id":"tea"},"mentionsMe":true,"replyToMe":true,"notifyAnyway":true}"#,
      .sendMessage(message(sender: "ann", isMention: true, isReply: true, isAnyway: true))
    ),
    (
      #"{"kind":"call","sender":{"id":"ann","name":"Ann","handle":"a@example.org","handleType":"email"},"conversation":{"id":"tea"}}"#,
      .startCall(StartCallFields(contacts: [person("Ann", handle: "a@example.org", type: .emailAddress)]))
    ),
    // A kind that this client does not know is shown as a message.
    (
      #"{"kind":"fax","sender":{"id":"ann","name":"Ann"},"conversation":{"id":"tea"}}"#,
      .sendMessage(message(sender: "Ann"))
    ),
  ]

  @Test(arguments: table) func `the intent's fields follow from the payload`(_ text: String, _ fields: IntentFields)
    throws
  {
    #expect(IntentFields(try #require(payload(text))) == fields)
  }

  @Test(arguments: table) func `neither the user nor the sender is a recipient`(_ text: String, _: IntentFields) throws
  {
    guard case .sendMessage(let fields) = IntentFields(try #require(payload(text))) else { return }
    #expect(fields.recipients.isEmpty)
  }

  @Test(
    arguments: [
      (#"{"alert":"Kettle"}"#, "Kettle"), (#"{"alert":{"body":"Kettle"}}"#, "Kettle"),
      (#"{"alert":{"loc-key":"New message"}}"#, nil),
    ] as [(String, String?)])
  func `the content is the text of the alert`(_ aps: String, _ content: String?) throws {
    let push = try #require(payload(#"{"sender":{"id":"ann"},"conversation":{"id":"tea"}}"#, aps: aps))
    guard case .sendMessage(let fields) = IntentFields(push) else { return }
    #expect(fields.content == content)
  }

  @Test(arguments: [
    ("tel", IntentPerson.HandleType.phoneNumber), ("phoneNumber", .phoneNumber), ("mailto", .emailAddress),
    ("xmpp", .unknown),
  ])
  func `a handle has Apple's type if Apple defines one`(_ type: String, _ expected: IntentPerson.HandleType) {
    #expect(IntentPerson(PayloadPerson(id: "a", name: "A", handle: "h", handleType: type)).handleType == expected)
  }

  @Test func `an arrival receipt uses the token of the payload`() throws {
    let payload = try #require(CommunicationPayload(reading: Self.direct.utf8))
    #expect(ArrivalReceipt(payload)?.receipt == "r1")
    var other = payload
    other.notification = "../../../v1/categories"
    #expect(ArrivalReceipt(other) == nil)
    other = payload
    other.receipt = nil
    #expect(ArrivalReceipt(other) == nil)
    #expect(ArrivalReceipt(reading: Self.direct.utf8) == ArrivalReceipt(payload))
  }

  /// The payload is that of a digest or of a notification without a message.
  @Test func `a plain push has ids for the receipt, and is not a communication`() throws {
    let plain =
      #"{"aps":{"alert":"3 messages"},"push":{"notification":"DD03C85B-FE98-48F9-98B0-2DA51FBEEED8","receipt":"r"}}"#
    #expect(CommunicationPayload(reading: plain.utf8) == nil)
    #expect(ArrivalReceipt(reading: plain.utf8)?.receipt == "r")
    #expect(ArrivalReceipt(reading: #"{"push":{"notification":"../x","receipt":"r"}}"#.utf8) == nil)
    #expect(ArrivalReceipt(reading: #"{"push":{"receipt":"r"}}"#.utf8) == nil)
    #expect(ArrivalReceipt(reading: (plain + String(repeating: " ", count: 5_120)).utf8) == nil)
  }

  @Test func `the client reads the id of a push of any kind`() throws {
    let id = "DD03C85B-FE98-48F9-98B0-2DA51FBEEED8"
    let plain = #"{"aps":{"alert":"3 messages"},"push":{"notification":"\#(id)"}}"#
    #expect(CommunicationPayload.notification(reading: plain.utf8) == id)
    let payload = try #require(CommunicationPayload(reading: Self.direct.utf8))
    #expect(CommunicationPayload.notification(reading: Self.direct.utf8) == payload.notification)
    #expect(CommunicationPayload.notification(reading: #"{"push":{"notification":"../x"}}"#.utf8) == nil)
    #expect(CommunicationPayload.notification(reading: #"{"aps":{}}"#.utf8) == nil)
    #expect(CommunicationPayload.notification(reading: "[]".utf8) == nil)
    // The largest payload that Apple's service accepts, and one byte more.
    let padding = String(repeating: " ", count: 5_120 - plain.utf8.count)
    #expect(CommunicationPayload.notification(reading: (plain + padding).utf8) == id)
    #expect(CommunicationPayload.notification(reading: (plain + padding + " ").utf8) == nil)
  }

  @Test func `a sender without an address has the id as the handle`() throws {
    let ann = try #require(payload(#"{"sender":{"id":"ann"},"conversation":{"id":"tea"}}"#)).sender
    #expect((IntentPerson(ann).handle, IntentPerson(ann).handleType) == ("ann", .unknown))
  }

  @Test func `the hash of a picture is ignored without the picture`() throws {
    func hash(_ members: String) -> String? {
      payload(#"{"sender":{"id":"a"\#(members)},"conversation":{"id":"tea"}}"#)?.sender.avatarSHA256
    }
    #expect(hash(#","avatar":"https://a.example/","avatarSHA256":"0f""#) == "0f")
    #expect(hash(#","avatarSHA256":"0f""#) == nil)
  }

  private static func person(
    _ name: String, handle: String? = nil, type: IntentPerson.HandleType = .unknown
  ) -> IntentPerson {
    var person = IntentPerson(PayloadPerson(id: "ann", name: name, handle: handle))
    person.handleType = type
    return person
  }

  private static func message(
    sender: String, count: Int? = nil, group: String? = nil, image: String? = nil, isMention: Bool = false,
    isReply: Bool = false, isAnyway: Bool = false
  ) -> SendMessageFields {
    SendMessageFields(
      sender: person(sender), recipients: [], recipientCount: count, content: nil, speakableGroupName: group,
      conversationIdentifier: "tea", groupImage: image, mentionsCurrentUser: isMention, isReplyToCurrentUser: isReply,
      notifyRecipientAnyway: isAnyway)
  }
}
