// SPDX-License-Identifier: Apache-2.0
public import RelayJSON
public import RelayProtocol

/// What a push says about a message or a call: `communication`, `message` and the texts of `aps.alert`.
///
/// A payload comes from a server, through the air, into an extension that must show something in any case: what is
/// missing or of a wrong type is absent here, and only without a sender and a conversation there is none.
public struct CommunicationPayload: Equatable, Sendable {
  public enum Kind: String, Sendable {
    case message, call
  }

  public var kind: Kind
  public var sender: PayloadPerson
  public var conversation: PayloadConversation
  public var mentionsMe: Bool
  public var repliesToMe: Bool
  /// The sender chose Notify Anyway.
  public var isNotifyAnyway: Bool
  /// What is answered with: ``RelayAPI/respond(to:with:text:key:)``.
  public var notification: String?
  /// What ``ArrivalReceipt`` says the arrival with.
  public var receipt: String?
  /// Which message it is; nil where it is of no room.
  public var message: MessageReference?
  /// Of ``message``.
  public var epoch: String?
  /// `aps.alert.body`, where it is a text and no key.
  public var text: String?

  public init(
    kind: Kind = .message, sender: PayloadPerson, conversation: PayloadConversation, mentionsMe: Bool = false,
    repliesToMe: Bool = false, isNotifyAnyway: Bool = false, notification: String? = nil, receipt: String? = nil,
    message: MessageReference? = nil, epoch: String? = nil, text: String? = nil
  ) {
    self.kind = kind
    self.sender = sender
    self.conversation = conversation
    self.mentionsMe = mentionsMe
    self.repliesToMe = repliesToMe
    self.isNotifyAnyway = isNotifyAnyway
    self.notification = notification
    self.receipt = receipt
    self.message = message
    self.epoch = epoch
    self.text = text
  }

  /// Reads a payload as it came: an object with `communication` beside `aps`. nil: it names no sender.
  public init?(_ payload: JSON) {
    guard let told = payload["communication"], let sender = PayloadPerson(told["sender"]),
      let conversation = PayloadConversation(told["conversation"])
    else { return nil }
    let alert = payload["aps"]?["alert"]
    let reference = payload["message"]
    let room: RoomID? = reference?.name("room")
    self.init(
      kind: told["kind"]?.text.flatMap(Kind.init(rawValue:)) ?? .message, sender: sender, conversation: conversation,
      mentionsMe: told["mentionsMe"]?.flag ?? false, repliesToMe: told["replyToMe"]?.flag ?? false,
      isNotifyAnyway: told["notifyAnyway"]?.flag ?? false, notification: told["notification"].filled,
      receipt: told["receipt"].filled,
      message: room.flatMap { room in reference?["seq"]?.integer.map { MessageReference(room: room, seq: $0) } },
      epoch: reference?["epoch"].filled, text: alert?.text ?? alert?["body"]?.text)
  }

  /// Bytes of the largest payload that Apple's service takes, that of a VoIP push.
  public static let largest = 5_120

  /// Reads a payload's text; nil as well where it is over ``largest`` bytes or no JSON.
  public init?(reading text: some Collection<UInt8>) {
    guard text.count <= Self.largest, let payload = JSON(reading: text) else { return nil }
    self.init(payload)
  }
}

extension PayloadPerson {
  fileprivate init?(_ person: JSON?) {
    guard let id = person?["id"].filled else { return nil }
    let handle = person?["handle"].filled
    let avatar = person?["avatar"].filled
    self.init(
      id: id, name: person?["name"].filled ?? id, handle: handle,
      handleType: handle == nil ? nil : person?["handleType"].filled, avatar: avatar,
      avatarSHA256: avatar == nil ? nil : person?["avatarSHA256"].filled)
  }
}

extension PayloadConversation {
  fileprivate init?(_ conversation: JSON?) {
    guard let id = conversation?["id"].filled else { return nil }
    let isGroup = conversation?["group"]?.flag ?? false
    let count = conversation?["recipientCount"]?.integer.flatMap {
      (1...Self.mostRecipients).contains($0) ? Int($0) : nil
    }
    self.init(
      id: id, name: conversation?["name"].filled, isGroup: isGroup, recipientCount: isGroup ? count : nil,
      avatar: conversation?["avatar"].filled)
  }

  /// What `limits.membersPerRoom` can be at most.
  private static let mostRecipients: Int64 = 1_000_000
}

extension JSON? {
  /// A text that is not empty: Apple's framework takes an absent one better.
  fileprivate var filled: String? {
    guard let text = self?.text, !text.isEmpty else { return nil }
    return text
  }
}
