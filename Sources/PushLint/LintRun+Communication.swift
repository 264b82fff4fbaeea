// SPDX-License-Identifier: Apache-2.0
import RelayProtocol

/// The rules for `communication`, which an app's notification service extension converts to an intent. Sources: Apple's
/// "Implementing communication notifications", and the parameters of `INPerson` and `INSendMessageIntent`.
extension LintRun {
  mutating func checkCommunication() {
    guard var talk = root["communication"], talk.members != nil else { return }
    if isWhole, root["aps"]?["mutable-content"]?.number != 1, root["aps"]?["mutable-content"]?.isBroken != true,
      let member = root.member("communication")
    {
      report(
        .communicationNotMutable, at: member, "without mutable-content no extension runs, and the sender is not shown",
        mend: #"write "mutable-content":1 into aps"#)
    }
    if let kind = talk["kind"], kind.text != "message", kind.text != "call", !kind.isBroken {
      report(
        .communicationKind, at: kind, "kind is \(kind.noun), and must be message or call", mend: "write message or call"
      )
    }
    for name in ["sender", "conversation"] {
      guard var party = talk[name] else {
        if isWhole { report(.communicationID, at: talk, "there is no \(name)", mend: "write an object with an id") }
        continue
      }
      checkParty(&party, name)
      talk[name] = party
    }
    root["communication"] = talk
  }

  private mutating func checkParty(_ party: inout LintValue, _ name: String) {
    guard party.members != nil else {
      if !party.isBroken {
        report(
          .wrongType, at: party, "\(name) is \(party.noun), and must be an object", mend: "write an object with an id")
      }
      return
    }
    checkIdentity(&party, name)
    for key in ["name", "handle", "avatar"] where party[key]?.text == "" {
      guard let member = party.member(key) else { continue }
      report(.communicationEmpty, at: member, "\(key) of the \(name) is empty", mend: "leave it out", isMended: true)
      party[key] = nil
    }
    if let avatar = party["avatar"]?.text, !avatar.isSecureURL, let member = party.member("avatar") {
      report(
        .communicationAvatar, at: member, "avatar of the \(name) is not an https URL, so that iOS loads no picture",
        mend: "write an https URL, or leave it out")
    }
    let count = party["recipientCount"]
    if isWhole, party["group"]?.kind == .bool(true), count.map({ $0.number.map { $0 < 1 } ?? !$0.isBroken }) ?? true,
      let member = party.member("recipientCount") ?? party.member("group")
    {
      report(
        .communicationGroupCount, at: member, "a group without a count of its recipients is shown as a direct message",
        mend: "write recipientCount: the number of members without the sender")
    }
  }

  private mutating func checkIdentity(_ party: inout LintValue, _ name: String) {
    guard let id = party["id"] else {
      if isWhole {
        report(
          .communicationID, at: party, "the \(name) has no id", mend: "write a text that is the same in all pushes")
      }
      return
    }
    if case .number(let spelling) = id.kind {
      report(
        .communicationID, at: id, "the id of the \(name) is \(id.noun), and must be a text",
        mend: "put it into quotation marks",
        replacement: "\"\(spelling.clipped)\"", isMended: true)
      party["id"] = LintValue(kind: .string(spelling), range: id.range)
    } else if id.text?.isEmpty != false, !id.isBroken {
      report(
        .communicationID, at: id, "the id of the \(name) is \(id.noun), and must be a text",
        mend: "write a text that is the same in all pushes")
    }
  }
}
