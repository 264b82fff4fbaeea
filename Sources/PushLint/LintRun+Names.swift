// SPDX-License-Identifier: Apache-2.0
import RelayProtocol

/// The rules for unknown and misspelled keys in the objects where only Apple defines keys.
extension LintRun {
  mutating func nameKeys() {
    guard var aps = root["aps"] else { return }
    rename(&aps, AppleKeys.aps, .unknownApsKey, "aps")
    if var alert = aps["alert"] {
      rename(&alert, isActivity ? AppleKeys.activityAlert : AppleKeys.alert, .unknownAlertKey, "alert")
      aps["alert"] = alert
    }
    if var sound = aps["sound"] {
      rename(&sound, AppleKeys.sound, .unknownSoundKey, "sound")
      aps["sound"] = sound
    }
    root["aps"] = aps
  }

  private mutating func rename(_ object: inout LintValue, _ known: [String: KeyShape], _ rule: LintRule, _ name: String)
  {
    guard var members = object.members else { return }
    let spellings = Dictionary(known.keys.map { (AppleKeys.plain($0), $0) }, uniquingKeysWith: { first, _ in first })
    var present = Set(members.map(\.key))
    for index in members.indices where known[members[index].key] == nil {
      let member = members[index]
      guard let spelling = spellings[AppleKeys.plain(String(member.key.prefix(64)))] else {
        // A nested `aps` was reported already.
        guard member.key != "aps" else { continue }
        report(
          rule, at: member, "\(member.key.quoted) is not a key of \(name)",
          mend: member.key.nearest(of: known.keys).map { "did you mean \($0)?" } ?? "write the app's keys beside aps"
        )
        continue
      }
      let isFree = present.insert(spelling).inserted
      report(
        .misspelledKey, at: member, "\(member.key.quoted) is not how Apple spells it",
        mend: isFree ? "write \(spelling)" : "remove it: \(spelling) is there too",
        replacement: isFree ? "\"\(spelling)\"" : nil,
        isMended: isFree)
      if isFree { members[index].key = spelling }
    }
    object.kind = .object(members)
  }
}
