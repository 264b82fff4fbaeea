// SPDX-License-Identifier: Apache-2.0
public import RelayJSON
public import RelayProtocol

/// The payload of a push about a message or a call: `communication`, `message` and the text of `aps.alert`.
///
/// The initializers ignore members that are missing or have a wrong type, because an extension must always show
/// something. They fail only if the sender or the conversation is missing.
public struct CommunicationPayload: Equatable, Sendable {
  public enum Kind: String, Sendable {
    case message, call
  }

  public var kind: Kind
  /// The account on this phone that the push is for. Is `nil` if the payload does not name it.
  public var recipient: UserID?
  /// The media of a call. It is video if the sender's `data` has the member `video` with the value true.
  public var media: Call.Media
  public var sender: PayloadPerson
  public var conversation: PayloadConversation
  public var mentionsMe: Bool
  public var repliesToMe: Bool
  /// True if the sender chose Notify Anyway.
  public var isNotifyAnyway: Bool
  /// The id of the push, for ``RelayAPI/respond(to:with:text:key:)``.
  public var notification: String?
  /// The token of ``ArrivalReceipt``.
  public var receipt: String?
  /// The room and seq of the message. Is `nil` if the push does not belong to a room.
  public var message: MessageReference?
  /// The message whose notification this push replaces. Is `nil` if the push replaces no notification of another message.
  public var replaces: MessageReference?
  /// The epoch of the room of ``message``.
  public var epoch: String?
  /// `aps.alert.body`. Is `nil` if the alert has a localization key instead.
  public var text: String?

  public init(
    kind: Kind = .message, sender: PayloadPerson, conversation: PayloadConversation, mentionsMe: Bool = false,
    repliesToMe: Bool = false, isNotifyAnyway: Bool = false, notification: String? = nil, receipt: String? = nil,
    message: MessageReference? = nil, replaces: MessageReference? = nil, epoch: String? = nil, text: String? = nil,
    media: Call.Media = .audio, recipient: UserID? = nil
  ) {
    self.recipient = recipient
    self.media = media
    self.kind = kind
    self.sender = sender
    self.conversation = conversation
    self.mentionsMe = mentionsMe
    self.repliesToMe = repliesToMe
    self.isNotifyAnyway = isNotifyAnyway
    self.notification = notification
    self.receipt = receipt
    self.message = message
    self.replaces = replaces
    self.epoch = epoch
    self.text = text
  }

  /// Reads a payload: an object with `communication` beside `aps`. Returns `nil` if the sender or the conversation is
  /// missing.
  public init?(_ payload: JSON) {
    guard let json = payload["communication"], let sender = PayloadPerson(json["sender"]),
      let conversation = PayloadConversation(json["conversation"])
    else { return nil }
    let alert = payload["aps"]?["alert"]
    let reference = payload["message"]
    self.init(
      kind: json["kind"]?.text.flatMap(Kind.init(rawValue:)) ?? .message, sender: sender, conversation: conversation,
      mentionsMe: json["mentionsMe"]?.flag ?? false, repliesToMe: json["replyToMe"]?.flag ?? false,
      isNotifyAnyway: json["notifyAnyway"]?.flag ?? false, notification: json["notification"].filled,
      receipt: json["receipt"].filled,
      message: reference.flatMap(MessageReference.init),
      replaces: json["replaces"].flatMap(MessageReference.init), epoch: reference?["epoch"].filled,
      text: alert?.text ?? alert?["body"]?.text,
      media: payload["video"]?.flag == true ? .video : .audio, recipient: json.name("recipient"))
  }

  /// The group of the push's interaction, which the extension donates.
  public var donationGroup: DonationGroup { DonationGroup(account: recipient, conversation: conversation.id) }

  /// Maximum size in bytes of a payload that Apple's service accepts, which is that of a VoIP push.
  public static let maxSize = 5_120

  /// Reads the text of a payload. Also returns `nil` if it is longer than ``maxSize`` or is not JSON.
  public init?(reading text: some Collection<UInt8>) {
    guard let payload = JSON(payload: text) else { return nil }
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
      (1...Self.maxRecipients).contains($0) ? Int($0) : nil
    }
    self.init(
      id: id, name: conversation?["name"].filled, isGroup: isGroup, recipientCount: isGroup ? count : nil,
      avatar: conversation?["avatar"].filled)
  }

  /// The maximum of `limits.membersPerRoom`.
  private static let maxRecipients: Int64 = 1_000_000
}

extension JSON {
  /// Reads the text of a payload. Returns `nil` if it is longer than ``CommunicationPayload/maxSize`` or is not JSON.
  init?(payload text: some Collection<UInt8>) {
    guard text.count <= CommunicationPayload.maxSize else { return nil }
    self.init(reading: text)
  }
}

extension JSON? {
  /// The text, or `nil` if it is empty. Apple's framework handles an absent text better than an empty one.
  fileprivate var filled: String? {
    guard let text = self?.text, !text.isEmpty else { return nil }
    return text
  }
}

// The identifier of the notification about a message.

extension CommunicationPayload {
  /// The identifier that the system gives to the push of this message, for a local notification about the same message:
  /// a request with it replaces the push. Is `nil` if the payload has no message or no recipient. With `collapse` `room`
  /// the pushes of the room have another identifier.
  public var requestIdentifier: String? {
    guard let message = replaces ?? message, let recipient else { return nil }
    return CollapseID.of(message, for: recipient)
  }
}
