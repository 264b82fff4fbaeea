// SPDX-License-Identifier: Apache-2.0
import Foundation
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
      return "  \(Self.date(attempt.time.rawValue))  \(parts.isEmpty ? "taken" : parts.joined(separator: "  "))"
    }
    return ([head] + (attempts.isEmpty ? [] : ["Attempts:"] + attempts)).joined(separator: "\n")
  }

  /// - Parameter time: Milliseconds since 1970.
  static func date(_ time: Int64) -> String {
    Date(timeIntervalSince1970: Double(time) / 1000).formatted(.iso8601)
  }
}

struct PushPage: Decodable {
  var pushes: [PushStory]
  var more: Bool
}

/// Pushes in columns.
struct PushTable {
  private let rows: [[String]]

  init(_ pushes: [PushStory]) {
    rows =
      [["ID", "CREATED", "STATE", "USER", "DEVICE", "MESSAGE", "NOTE"]]
      + pushes.map { push in
        [
          push.id, PushStory.date(push.created), push.state, push.user, push.device, push.origin, push.note ?? "",
        ]
      }
  }

  /// The names of the columns in the first line, and then one line for each push.
  var text: String {
    let widths = (0..<7).map { column in rows.map { $0[column].count }.max() ?? 0 }
    return rows.map { row in
      let cells = zip(row, widths).map { $0.padding(toLength: $1, withPad: " ", startingAt: 0) }
      return cells.joined(separator: "  ").replacing(#/ +$/#, with: "") + "\n"
    }.joined()
  }
}
