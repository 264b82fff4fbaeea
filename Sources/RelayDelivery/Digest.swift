// SPDX-License-Identifier: Apache-2.0
import RelayJSON
import RelayProtocol

extension Push {
  /// The push of a digest: the number of messages, and the newest message of each room. A single message is pushed as
  /// itself.
  ///
  /// If not all rooms fit, the rooms with the oldest messages are left out, but the counts include them. If not even
  /// one room fits, the newest message is pushed as itself.
  /// - Parameter maxSize: The maximum size of the payload, in bytes.
  public init(_ digest: DigestSubject, maxSize: Int = Self.maxPayload) throws(PayloadError) {
    let fitting = digest.newest.lighter.lazy.compactMap { newest in
      var digest = digest
      digest.newest = newest
      return fittedPayload(of: digest, maxSize: maxSize)
    }
    guard digest.total > 1, let payload = fitting.first else {
      try self.init(digest.newest, maxSize: maxSize)
      return
    }
    self.init(digest.newest, payload: payload.bytes)
    listedRooms = payload.rooms
  }
}

/// The maximum number of characters in one line of a digest. A lock screen shows no more of it.
private let maxLine = 160
/// The maximum number of rooms that can fit: one room takes more than 32 bytes in its line and its list item.
private let maxRooms = Push.maxPayload / 32

private func fittedPayload(of digest: DigestSubject, maxSize: Int) -> (bytes: [UInt8], rooms: Int)? {
  let newest = digest.newest
  let own = DigestRoom(
    room: newest.room.id, count: digest.count, seq: newest.seq, sender: newest.sender,
    text: newest.style.line(newest.text, hasPreview: newest.hasPreview))
  let listed = ([own] + digest.others).prefix(maxRooms).map { (room: $0, line: $0.line) }
  func payload(rooms count: Int, body: String?) -> [UInt8] {
    render(digest, listed.prefix(count).map(\.room), body: body)
  }
  func body(rooms count: Int) -> String { listed.prefix(count).map(\.line).joined(separator: "\n") }
  // Binary search: the payload grows with the number of rooms.
  var (fitting, beyond) = (1, listed.count + 1)
  while beyond - fitting > 1 {
    let count = (fitting + beyond) / 2
    let fits = payload(rooms: count, body: body(rooms: count)).count <= maxSize
    if fits { fitting = count } else { beyond = count }
  }
  let bytes = try? fitted(body(rooms: fitting), maxSize: maxSize) { payload(rooms: fitting, body: $0) }
  return bytes.map { ($0, fitting) }
}

private func render(_ digest: DigestSubject, _ rooms: [DigestRoom], body: String?) -> [UInt8] {
  JSONWriter.object { payload in
    payload.object("aps") { aps in
      aps.object("alert") { alert in
        digest.title.write(to: &alert, as: "title", "title-")
        alert["body"] = body
      }
      digest.newest.writeStyle(to: &aps, thread: digest.thread)
      if digest.others.isEmpty { digest.newest.writeContent(to: &aps) }
    }
    // A digest is not the message of one person: with an intent, iOS would replace "3 messages" by the newest sender.
    digest.newest.writeOrigin(to: &payload, isCommunication: false)
    if digest.others.isEmpty { digest.newest.writeExtras(to: &payload) }
    payload.array("digest") { list in
      for room in rooms {
        list.object { item in
          item["room"] = room.room.rawValue
          item.integer("seq", room.seq)
          item.integer("count", room.count)
        }
      }
    }
  }
}

extension DigestSubject {
  /// True if the payload has capacity for removals, and loses no name and no picture.
  func fits(_ removals: Removals, maxSize: Int) -> Bool {
    var digest = self
    digest.newest.removals = removals
    if total > 1 { return fittedPayload(of: digest, maxSize: maxSize) != nil }
    return (try? fittedPayload(of: digest.newest, maxSize: maxSize)) != nil
  }

  /// The counts are above 1.
  var title: PushText {
    let texts = newest.app.texts
    if !others.isEmpty { return texts.text(.messagesInRooms, "\(total)", "\(others.count + 1)") }
    if let title = newest.room.title, !title.isEmpty { return texts.text(.messagesInRoom, "\(total)", title) }
    return texts.text(.messages, "\(total)")
  }

  /// A digest of one room has the thread of its newest message. A digest of several rooms has a thread of its own, with
  /// a name that no room can have.
  fileprivate var thread: String? { others.isEmpty ? newest.thread : "/digest" }
}

extension DigestRoom {
  /// `Ann: text`, or only the name if there is no text.
  fileprivate var line: String {
    guard let text = text?.asLine, !text.isBlank else { return sender.shownName }
    return "\(sender.shownName): \(text)".onOneLine(maxLength: maxLine)
  }
}
