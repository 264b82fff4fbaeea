// SPDX-License-Identifier: Apache-2.0
import RelayProtocol

/// The rules for keys in the wrong object. A key is moved to the right object if that object does not have it yet.
extension LintRun {
  mutating func placeKeys() {
    move(from: [], to: "aps", .apsKeyOutside, "beside aps") { lint, key in lint.isApples(key) }
    reportCommonKeys()
    if !isActivity {
      move(from: ["aps", "alert"], to: "aps", .apsKeyInAlert, "in alert") { _, key in
        AppleKeys.aps[key] != nil && AppleKeys.alert[key] == nil
      }
    }
    move(from: [], to: "alert", .alertKeyOutside, "beside aps") { _, key in
      AppleKeys.alert[key] != nil && key.contains("-") && key != "launch-image"
    }
    move(from: ["aps"], to: "alert", .alertKeyInAps, "in aps") { _, key in
      AppleKeys.alert[key] != nil && AppleKeys.aps[key] == nil
    }
    move(from: ["aps"], to: "sound", .soundKeyInAps, "in aps") { _, key in key == "critical" || key == "volume" }
  }

  private mutating func move(
    from source: [String], to target: String, _ rule: LintRule, _ location: String,
    where isAstray: (LintRun, String) -> Bool
  ) {
    guard let members = source.reduce(root as LintValue?, { $0?[$1] })?.members else { return }
    let astray = members.filter { isAstray(self, $0.key) }
    guard !astray.isEmpty else { return }
    var moved: Set<String> = []
    for member in astray where admit(member, into: target) { moved.insert(member.key) }
    for member in astray {
      let isMoved = moved.contains(member.key)
      report(
        rule, at: member, "\(member.key) is \(location), where iOS does not read it",
        mend: isMoved ? "move it into \(target)" : "remove it: \(target) has its own", isMended: isMoved)
    }
    let kept = (source.reduce(root as LintValue?) { $0?[$1] })?.members?.filter { !moved.contains($0.key) } ?? []
    replaceMembers(at: source, with: kept)
  }

  private mutating func replaceMembers(at path: [String], with members: [LintMember]) {
    switch path {
    case []: root.kind = .object(members)
    case ["aps"]: root["aps"]?.kind = .object(members)
    default: root["aps"]?["alert"]?.kind = .object(members)
    }
  }

  /// Adds a member to `aps`, or to an object in `aps`.
  /// - Returns: False if the target has the key already.
  private mutating func admit(_ member: LintMember, into target: String) -> Bool {
    guard var aps = root["aps"] else { return false }
    defer { root["aps"] = aps }
    if target == "aps" {
      guard aps[member.key] == nil else { return false }
      aps.append(member)
      return true
    }
    guard var object = aps[target] else {
      let location = member.keyRange.lowerBound..<member.keyRange.lowerBound
      aps.append(
        LintMember(key: target, keyRange: location, value: LintValue(kind: .object([member]), range: location)))
      return true
    }
    if object.text != nil {
      // Convert a text to an object: it is the body of an alert or the name of a sound.
      let location = object.range.lowerBound..<object.range.lowerBound
      let key = target == "alert" ? "body" : "name"
      object.kind = .object([LintMember(key: key, keyRange: location, value: object)])
    }
    guard object.members != nil, object[member.key] == nil else { return false }
    object.append(member)
    aps[target] = object
    return true
  }

  private mutating func reportCommonKeys() {
    for member in root.members ?? [] where AppleKeys.common.contains(member.key) && root["aps"]?[member.key] == nil {
      guard member.key == "category" ? member.value.text != nil : isActivity else { continue }
      report(
        .apsKeyPerhapsOutside, at: member, "\(member.key) is beside aps, where it is a key of the app",
        mend: "move it into aps if you mean Apple's key")
    }
  }
}
