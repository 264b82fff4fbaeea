// SPDX-License-Identifier: Apache-2.0
import RelayProtocol

/// The rules for values of the wrong type.
extension LintRun {
  mutating func checkTypes() {
    guard var aps = root["aps"] else { return }
    type(&aps, AppleKeys.aps)
    if var alert = aps["alert"] {
      type(&alert, isActivity ? AppleKeys.activityAlert : AppleKeys.alert)
      aps["alert"] = alert
    }
    if var sound = aps["sound"] {
      type(&sound, AppleKeys.sound)
      aps["sound"] = sound
    }
    root["aps"] = aps
  }

  private mutating func type(_ object: inout LintValue, _ known: [String: KeyShape]) {
    guard let members = object.members else { return }
    object.kind = .object(
      members.compactMap { member in
        guard let shape = known[member.key], let value = typed(member, shape) else {
          return known[member.key] == nil ? member : nil
        }
        var typed = member
        typed.value = value
        return typed
      })
  }

  /// Returns the value with the right type if the correction is certain, or else unchanged. Returns `nil` to remove the
  /// member.
  private mutating func typed(_ member: LintMember, _ shape: KeyShape) -> LintValue? {
    let value = member.value
    switch (shape, value.kind) {
    case (_, .broken), (_, .wrong): return value
    case (_, .null):
      report(.nullValue, at: value, "\(member.key) is null", mend: "leave the key out", isMended: true)
      return nil
    case (.text, .string), (.alert, .string), (.sound, .string), (.alert, .object), (.sound, .object),
      (.object, .object),
      (.number, .number), (.date, .number), (.truth, .bool):
      return value
    case (.flag, _): return flag(member)
    case (.texts, .array(let items)): return texts(member, items)
    case (.text, .number(let spelling)), (.alert, .number(let spelling)):
      report(
        .textAsNumber, at: value, "\(member.key) is \(value.noun), and must be a text",
        mend: "put it into quotation marks",
        replacement: "\"\(spelling.clipped)\"", isMended: true)
      return LintValue(kind: .string(spelling), range: value.range)
    case (.number, .string(let text)) where text.isNumber, (.date, .string(let text)) where text.isNumber:
      report(
        .numberAsText, at: value, "\(member.key) is \(value.noun), and must be a number",
        mend: "leave out the quotation marks",
        replacement: text.clipped, isMended: true)
      return LintValue(kind: .number(text), range: value.range)
    default:
      report(
        .wrongType, at: value, "\(member.key) is \(value.noun), and must be \(shape.noun)", mend: "write \(shape.noun)")
      return LintValue(kind: .wrong(value), range: value.range)
    }
  }

  private mutating func flag(_ member: LintMember) -> LintValue {
    let value = member.value
    let meant: String? =
      switch value.kind {
      case .bool(let flag): flag ? "1" : "0"
      case .string("1"), .string("true"): "1"
      case .string("0"), .string("false"): "0"
      default: nil
      }
    if let meant {
      report(
        .flagNotNumber, at: value, "\(member.key) is \(value.noun), and must be the number \(meant)",
        mend: "write \(meant), without quotation marks", replacement: meant, isMended: true)
      return LintValue(kind: .number(meant), range: value.range)
    }
    guard let number = value.number else {
      report(
        .wrongType, at: value, "\(member.key) is \(value.noun), and must be the number 1",
        mend: "write 1, or leave the key out")
      return LintValue(kind: .wrong(value), range: value.range)
    }
    if number != 0, number != 1 {
      report(
        .flagValue, at: value, "\(member.key) is \(value.noun), and must be 1", mend: "write 1, or leave the key out")
    }
    return value
  }

  private mutating func texts(_ member: LintMember, _ items: [LintValue]) -> LintValue {
    let typed = items.map { item in
      switch item.kind {
      case .string, .broken, .wrong: return item
      case .number(let spelling):
        report(
          .textAsNumber, at: item, "\(member.key) has \(item.noun), and must have only texts",
          mend: "put it into quotation marks",
          replacement: "\"\(spelling.clipped)\"", isMended: true)
        return LintValue(kind: .string(spelling), range: item.range)
      default:
        report(.wrongType, at: item, "\(member.key) has \(item.noun), and must have only texts", mend: "write a text")
        return item
      }
    }
    return LintValue(kind: .array(typed), range: member.value.range)
  }
}

extension KeyShape {
  var noun: String {
    switch self {
    case .text: "a text"
    case .number: "a number"
    case .date: "a number of seconds since 1970"
    case .flag: "the number 1"
    case .truth: "true or false"
    case .texts: "an array of texts"
    case .object: "an object"
    case .alert, .sound: "a text or an object"
    }
  }
}
