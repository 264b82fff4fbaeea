// SPDX-License-Identifier: Apache-2.0
import RelayJSON
import RelayProtocol

/// A kind of recipient and message of the load `decisions`, for which the decision is known.
enum DecisionCase: String, CaseIterable {
  case plain, muted, mentioned, blocked, quietHold, quietPassive, focusHold, focusUrgent

  /// The recipient's preferences. Are `nil` if they are the defaults.
  func preferences(in room: String) -> [UInt8]? {
    switch self {
    case .plain, .blocked: nil
    case .muted, .mentioned:
      JSONWriter.object { $0.object("rooms") { $0.object(room) { $0["level"] = RoomLevel.mentions.rawValue } } }
    case .quietHold: Self.quietHours(.hold)
    case .quietPassive: Self.quietHours(.passive)
    case .focusHold, .focusUrgent: JSONWriter.object { $0["onFocus"] = SilenceMode.hold.rawValue }
    }
  }

  /// Returns quiet hours that never end, so that the decisions are the same at all times of the day.
  private static func quietHours(_ mode: SilenceMode) -> [UInt8] {
    JSONWriter.object {
      $0.object("quietHours") {
        $0["from"] = "00:00"
        $0["to"] = "00:00"
        $0["timeZone"] = "Europe/Berlin"
        $0["mode"] = mode.rawValue
      }
    }
  }

  var blocksSender: Bool { self == .blocked }

  /// True if a Focus is on, on all devices of the recipient.
  var isFocused: Bool { self == .focusHold || self == .focusUrgent }

  /// The body of the request.
  func request(room: String, sender: String, user: String) -> [UInt8] {
    JSONWriter.object {
      $0["room"] = room
      $0["from"] = sender
      $0["user"] = user
      if self == .mentioned { $0.array("mentions") { $0.string(user) } }
      if self == .focusUrgent {
        $0.object("push") { $0["level"] = Level.timeSensitive.rawValue }
        // The configuration of the relay may give less to a sender without a session.
        $0.array("rights") { list in ["send", "push", "urgent"].forEach { list.string($0) } }
      }
    }
  }

  var expected: DecisionVerdict {
    switch self {
    case .plain, .mentioned: DecisionVerdict(kind: "push", level: "active", code: "nothing_against")
    case .muted: DecisionVerdict(kind: "none", level: nil, code: "muted")
    case .blocked: DecisionVerdict(kind: "none", level: nil, code: "blocked")
    case .quietHold: DecisionVerdict(kind: "hold", level: nil, code: "quiet_hours")
    case .quietPassive: DecisionVerdict(kind: "push", level: "passive", code: "quiet_hours")
    case .focusHold: DecisionVerdict(kind: "hold", level: nil, code: "focused")
    case .focusUrgent: DecisionVerdict(kind: "push", level: "timeSensitive", code: "nothing_against")
    }
  }

  /// Compares an answer with the expected decision for each of `devices`. Returns the first difference, or `nil` if there
  /// is none.
  func difference(in answer: [UInt8], devices: Set<String>) -> String? {
    guard let answer = JSON(reading: answer), case .array(let decisions)? = answer["devices"] else {
      return "the answer has no decisions"
    }
    guard decisions.count == devices.count, Set(decisions.compactMap { $0["device"]?.text }) == devices else {
      return "\(rawValue): the answer has \(decisions.count) decisions, or they name other devices"
    }
    for decision in decisions {
      let verdict = DecisionVerdict(decision["decision"])
      if verdict != expected {
        return "\(rawValue): \(verdict?.description ?? "no outcome") instead of \(expected)"
      }
    }
    return nil
  }
}

/// The outcome of a decision for a device, with the code of the rule that decided.
struct DecisionVerdict: Equatable, CustomStringConvertible {
  let kind: String
  /// The level of a push.
  let level: String?
  let code: String

  var description: String { [kind, level, "(\(code))"].compactMap(\.self).joined(separator: " ") }
}

extension DecisionVerdict {
  /// Returns `nil` if the value is not a decision.
  init?(_ decision: JSON?) {
    guard let outcome = decision?["outcome"], let kind = outcome["kind"]?.text,
      case .array(let reasons)? = decision?["reasons"], let code = reasons.first?["code"]?.text
    else { return nil }
    self.init(kind: kind, level: outcome["level"]?.text, code: code)
  }
}
