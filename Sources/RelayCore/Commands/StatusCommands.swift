// SPDX-License-Identifier: Apache-2.0

// The command for the status of a user, which presence shows. `People` applies the change.

import RelayDelivery
import RelayHub
import RelayJSON
import RelayProtocol
import RelayStore

/// Sets the status of a user, in place of the earlier one. A request without a text and an emoji ends the status.
struct SetStatus: Command {
  package static let declaration = Declaration(
    frame: "status", "PUT", "/v1/users/{user}/status", room: .noRoom, account: .preferences)

  private let request: Request
  private let user: UserID
  private let status: UserStatus?

  init(_ request: Request) throws(RequestError) {
    self.request = request
    user = try request.user
    status = try UserStatus(request.fields)
  }

  package func run(on relay: isolated Relay) async throws -> Reply {
    // A misspelled field over HTTP would end the status. The relay ignores unknown fields of frames.
    if request.caller.session == nil { try request.fields.checkNames(among: ["text", "emoji", "until"]) }
    if let status, !status.isOn(at: relay.hub.now) { throw request.fields.wrong("until", "is in the past") }
    return try await relay.people.withUser(user, on: relay) { handle in
      let shown = try await relay.people.change(status: status, of: handle, cause: request.caller.session, on: relay)
      return Reply { $0.raw("status", shown?.json ?? Array("null".utf8)) }
    }
  }
}

extension UserStatus {
  /// Parses the fields of a request. Is `nil` without a text and an emoji. An empty text counts as absent.
  init?(_ fields: Fields) throws(RequestError) {
    let text = try fields.shortLine("text", Self.maxTextCharacters, maxLength: Self.maxTextLength)
    let emoji = try fields.shortLine("emoji", Self.maxEmojiCharacters, maxLength: Self.maxEmojiLength)
    let until = try fields.integer("until", 0...maxInteger).map(Timestamp.init(rawValue:))
    guard text != nil || emoji != nil else {
      guard until == nil else { throw fields.wrong("until", "belongs to a status, and needs text or emoji") }
      return nil
    }
    self.init(text: text, emoji: emoji, until: until)
  }
}

extension Fields {
  /// A text of one line. Is `nil` if it is empty.
  fileprivate func shortLine(_ key: String, _ maxCharacters: Int, maxLength: Int) throws(RequestError) -> String? {
    guard let line = try line(key, maxLength: maxLength), !line.isEmpty else { return nil }
    guard line.unicodeScalars.count <= maxCharacters else {
      throw wrong(key, "must be at most \(maxCharacters) characters long")
    }
    return line
  }
}
