// SPDX-License-Identifier: Apache-2.0
// Parses the changes of a room's people from replies and events.
import RelayJSON
import RelayProtocol

extension People.Change {
  /// Parses the people in the reply to `join`.
  init(_ reply: JSON) {
    self = .shown(
      entries: reply["members"]?.items?.compactMap(Presence.init), memberCount: reply.count("memberCount"),
      onlineCount: reply.count("onlineCount"))
  }

  /// Parses an event. Returns `nil` if it does not change the people.
  init?(_ event: Frame) {
    switch event.type {
    case "presence":
      guard let entry = Presence(event.members) else { return nil }
      self = .changed(entry)
    case "member":
      guard let user = event.user, let kind = event["event"]?.text else { return nil }
      let count = event.members.count("memberCount")
      switch kind {
      case "joined":
        self = .joined(
          user, name: event["name"]?.text, presence: event["presence"].flatMap(Presence.init), memberCount: count)
      case "restricted", "unrestricted": self = .restricted(user, until: event.members.time("restrictedUntil"))
      default: self = .left(user, memberCount: count)
      }
    case "counts":
      guard event["memberCount"]?.integer != nil, event["onlineCount"]?.integer != nil else { return nil }
      self = .counted(memberCount: event.members.count("memberCount"), onlineCount: event.members.count("onlineCount"))
    default: return nil
    }
  }
}

extension JSON {
  fileprivate func count(_ key: String) -> Int { Int(max(0, self[key]?.integer ?? 0)) }
}
