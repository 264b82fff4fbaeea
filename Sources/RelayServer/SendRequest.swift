// SPDX-License-Identifier: Apache-2.0
import RelayDelivery
import RelayHub
import RelayJSON
import RelayProtocol

/// What a `send` says beside its room, its body and its key.
struct SendRequest: Equatable, Sendable {
  var mentions: [UserID] = []
  /// The seq of the message that it answers.
  var replyTo: Int64?
  var push = PushRequest()
  /// The sender wants `delivery` events.
  var reports = false

  static let mostMentions = 256

  init() {}

  /// - Parameters:
  ///   - newest: The newest message of the room.
  ///   - isStored: Rooms that keep nothing push nothing.
  init(_ fields: Fields, rights: Rights, newest: Int64, isStored: Bool) throws(RequestError) {
    var seen: Set<UserID> = []
    mentions = (try fields.names("mentions", most: Self.mostMentions) ?? []).filter { seen.insert($0).inserted }
    replyTo = try fields.integer("replyTo", 1...largestInteger)
    if let replyTo, replyTo > newest { throw fields.wrong("replyTo", "is above the newest of the room") }
    reports = try fields.bool("report") ?? false
    guard let push = try PushRequest(fields, rights: rights) else { return }
    guard isStored else {
      throw RequestError(
        .unsupported, "a room that keeps nothing pushes nothing", at: "\(fields.place)/push", status: 422)
    }
    self.push = push
  }

  /// The members of a `message` event, which begin with a comma, or nothing.
  var members: [UInt8] {
    guard !mentions.isEmpty || replyTo != nil else { return [] }
    var object = JSONWriter.object { Replies.address(mentions, replyTo)(&$0) }
    object[0] = UInt8(ascii: ",")
    object.removeLast()
    return object
  }
}

extension PushRequest {
  /// Throws what does not go with the room, or would not fit into a payload.
  /// - Parameters:
  ///   - hasPreview: Whether texts of its messages may leave the relay.
  ///   - largest: Bytes of a payload at most.
  func check(sender: UserID, room: RoomID, hasPreview: Bool, largest: Int) throws(RequestError) {
    // Of a silent push nothing but the data could be large, and that is bounded.
    guard manner != PushManner(), !isSilent else { return }
    if !hasPreview, let key = manner.firstText {
      throw RequestError(
        .forbidden, "no text leaves this room: \(key) may only be a key of the app's texts, without arguments",
        at: "/push/\(key)")
    }
    do {
      try checkSize(sender: sender, room: room, hasPreview: hasPreview, largest: largest)
    } catch {
      throw RequestError(
        .tooLarge, "a push may need \(error.size) bytes beside its body, and \(error.largest) are allowed",
        at: "/push")
    }
  }

  /// Throws where it names a category that clients cannot know.
  func check(in registry: CategoryRegistry) throws(RequestError) {
    guard let category = manner.category, registry[category] == nil else { return }
    throw RequestError(.badRequest, "category is none of the registry, see PUT /v1/categories", at: "/push/category")
  }

  /// nil: there is no `push`.
  init?(_ fields: Fields, rights: Rights) throws(RequestError) {
    if case .bool(let isAsked)? = fields.members["push"] {
      self.init(isAsked: isAsked)
      return
    }
    guard let fields = try fields.object("push") else { return nil }
    // A misspelled field would have no effect, and nobody would notice.
    try fields.checkNames(among: Self.keys)
    try self.init(object: fields)
    isUrgentAllowed = level <= .active || rights.contains(.urgent)
    guard kind == .message || rights.contains(.urgent) else {
      throw RequestError(.forbidden, "the right urgent is needed to call", at: "\(fields.place)/kind")
    }
    if !rights.contains(.push), let key = (PushManner.keys + ["silent"]).first(where: fields.has) {
      throw RequestError(
        .forbidden, "the right push is needed for \(key); without it kind, level, criteria and expires may be given",
        at: "\(fields.place)/\(key)")
    }
  }

  /// The members that `push` may have.
  private static let keys = ["kind", "level", "criteria", "expires", "silent"] + PushManner.keys

  /// What ``json`` has made of a request.
  init(stored json: [UInt8]?, _ parser: JSONParser) {
    self.init()
    guard let json else { return }
    guard json != Array("false".utf8) else {
      isAsked = false
      return
    }
    // The parser looks into no `body` of an outermost object.
    let wrapped = Array("{\"push\":".utf8) + json + Array("}".utf8)
    guard let fields = try? parser.parse(wrapped).object("push"), let push = try? PushRequest(object: fields) else {
      return
    }
    self = push
    isUrgentAllowed = (try? fields.bool(Self.urgentKey)) ?? true
  }

  private init(object fields: Fields) throws(RequestError) {
    self.init()
    kind = try fields.choice("kind") ?? .message
    level = try fields.choice("level") ?? .active
    criteria = try fields.string("criteria", longest: FilterReport.longestCriteria)
    let longest = Double(Self.longestLifetime.components.seconds)
    lifetime = try fields.decimal("expires", 1...longest).map { .milliseconds(Int64($0 * 1000)) }
    manner = try PushManner(fields, level: level)
    guard kind == .message || manner.isCommunication != false else {
      throw fields.wrong("communication", "must not be false for a call, which names its caller")
    }
    isSilent = try fields.bool("silent") ?? false
    guard isSilent else { return }
    if let key = (["kind", "level"] + PushManner.keys).first(where: { $0 != "data" && fields.has($0) }) {
      throw fields.wrong(key, "does not go with silent, which shows nothing: data, criteria and expires do")
    }
  }
}
