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
