// SPDX-License-Identifier: Apache-2.0
package import RelayProtocol

/// The places where a stored text of a message can leave the relay. Each place checks the rights that it has here.
///
/// A message that is sent to a session while the session is in the room is live: it needs only the right `join`. All
/// other texts are stored. The protocol has the list as a table.
package enum StoredText: CaseIterable, Sendable {
  case history, join, roomList, inboxEvent, pins, quote, sentQuote, changeEvent, reactions, responseEvent, push, export
  case simulatedPhone

  /// The place, as the protocol names it.
  package var place: String {
    switch self {
    case .history: "`history`, `GET /v1/rooms/{room}/messages`: the messages, with their quotes and reactions"
    case .join: "`join`: `messages`, `changes`, and the event `page`"
    case .roomList: "`rooms`, `GET /v1/users/{user}/rooms`: the `preview` of `lastMessage`"
    case .inboxEvent: "the event `inbox`: the `preview` of `lastMessage`"
    case .pins: "`pins`, `GET /v1/rooms/{room}/pins`: `preview`"
    case .quote: "`quote` of the event `message`"
    case .sentQuote: "`quote` of the reply to `send` and `POST /v1/rooms/{room}/messages`"
    case .changeEvent: "the events `edited` and `reactions`"
    case .reactions: "`reactions` of the reply to `react` and `unreact`"
    case .responseEvent: "the event `response`: `text`, if the relay has posted it as a message"
    case .push: "the payload of a push, also after a hold, in a digest and after an edit"
    case .export: "`GET /v1/users/{user}/export`"
    case .simulatedPhone: "`GET /v1/simulator/devices/{token}`, and its events"
    }
  }

  /// The rights that a user needs in the room of the message.
  package var rights: Rights {
    switch self {
    case .history, .pins, .quote, .sentQuote, .changeEvent, .reactions: .history
    case .join, .roomList, .inboxEvent, .responseEvent: [.join, .history]
    case .push: .join
    case .export, .simulatedPhone: []
    }
  }

  /// True if the rights are those of the user's newest token. False if they are those of the session or of the request.
  var isOfNewestToken: Bool { self == .push }

  /// True if a session without the rights still gets the texts of the messages that were sent to it since it joined the
  /// room.
  package var includesLive: Bool { self == .quote || self == .changeEvent || self == .reactions }

  /// The callers that may read the text.
  package var callers: Declaration.Callers { self == .export || self == .simulatedPhone ? .backend : .users }

  /// True if a user with these rights in the room may read the text.
  package func isReadable(with rights: Rights) -> Bool { rights.isSuperset(of: self.rights) }
}
