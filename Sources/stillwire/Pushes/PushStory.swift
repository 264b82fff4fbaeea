// SPDX-License-Identifier: Apache-2.0
import RelayProtocol

/// A push in an answer of the relay, with only the members that the commands print.
struct PushStory: Decodable {
  var id: String
  var room: String?
  var seq: Int64?
  var user: String
  var device: String
  var platform: String
  var state: String
  var summary: String
  var created: Int64
  var note: String?
  var attempts: [PushAttempt]

  /// The room and seq of the push's message. Is `-` if the push has no message in a room.
  var origin: String { room.map { "\($0)/\(seq ?? 0)" } ?? "-" }

  var text: String {
    let head = "\(id): \(user)'s \(device) (\(platform)), \(origin), \(state)\n\(summary)"
    let attempts = attempts.map { attempt in
      let parts = [attempt.status.map(String.init), attempt.reason, attempt.words].compactMap { $0 }
      return "  \(TextTable.date(attempt.time.rawValue))  \(parts.isEmpty ? "taken" : parts.joined(separator: "  "))"
    }
    return ([head] + (attempts.isEmpty ? [] : ["Attempts:"] + attempts)).joined(separator: "\n")
  }
}

struct PushPage: Decodable {
  var pushes: [PushStory]
  var more: Bool
}

extension TextTable {
  /// Pushes in columns.
  init(_ pushes: [PushStory]) {
    self.init(
      ["ID", "CREATED", "STATE", "USER", "DEVICE", "MESSAGE", "NOTE"],
      pushes.map { push in
        [push.id, Self.date(push.created), push.state, push.user, push.device, push.origin, push.note ?? ""]
      })
  }
}
