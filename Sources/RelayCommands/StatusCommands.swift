// SPDX-License-Identifier: Apache-2.0

// The command for the status of a user, which presence shows. `People` applies the change.

import RelayHub
import RelayJSON
import RelayProtocol
import RelayRequests
import RelayState

/// Sets the status of a user, in place of the earlier one. A request without a text and an emoji ends the status.
struct SetStatus: Command {
  package static let declaration = Declaration(
    frame: "status", "PUT", "/v1/users/{user}/status", room: .noRoom, account: .preferences,
    fields: UserStatus.fields)

  private let request: Request
  private let user: UserID
  private let status: UserStatus?

  init(_ request: Request) throws(RequestError) {
    self.request = request
    user = try request.user
    status = try UserStatus(request.fields)
  }

  package func run(_ relay: Relay, on core: isolated Core) async throws -> Reply {
    // A misspelled field over HTTP would end the status. The relay ignores unknown fields of frames.
    if request.caller.session == nil { try request.fields.checkNames(among: UserStatus.fields.map(\.declaration.name)) }
    if let status, !status.isOn(at: core.hub.now) { throw request.fields.wrong("until", "is in the past") }
    return try await relay.people.withUser(user, on: core) { handle in
      let shown = try await relay.people.change(status: status, of: handle, requester: request.caller.session, on: core)
      return Reply { $0.raw("status", shown?.json ?? Array("null".utf8)) }
    }
  }
}

extension UserStatus {
  private static let textField = Field<String?>.line("text", maxLength: maxTextLength, schema: "StatusText")
  private static let emojiField = Field<String?>.line("emoji", maxLength: maxEmojiLength, schema: "StatusEmoji")
  private static let untilField = Field<Timestamp?>.time(
    "until", "The time at which the relay ends the status. A time in the past is an error.")

  static let fields: [any DeclaredField] = [textField, emojiField, untilField]

  /// Parses the fields of a request. Is `nil` without a text and an emoji. An empty text counts as absent.
  init?(_ fields: Fields) throws(RequestError) {
    let text = try fields.shortLine(Self.textField, Self.maxTextCharacters)
    let emoji = try fields.shortLine(Self.emojiField, Self.maxEmojiCharacters)
    let until = try Self.untilField.value(in: fields)
    guard text != nil || emoji != nil else {
      guard until == nil else { throw fields.wrong("until", "belongs to a status, and needs text or emoji") }
      return nil
    }
    self.init(text: text, emoji: emoji, until: until)
  }
}

extension Fields {
  /// A text of one line. Is `nil` if it is empty.
  fileprivate func shortLine(_ field: Field<String?>, _ maxCharacters: Int) throws(RequestError) -> String? {
    guard let line = try field.value(in: self), !line.isEmpty else { return nil }
    guard line.unicodeScalars.count <= maxCharacters else {
      throw wrong(field.declaration.name, "must be at most \(maxCharacters) characters long")
    }
    return line
  }
}
