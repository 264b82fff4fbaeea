// SPDX-License-Identifier: Apache-2.0
import RelayProtocol

/// The rules for the position of `aps`, and for requests to other services that contain Apple's payload.
extension LintRun {
  /// The paths to Apple's payload in requests to other services.
  private static let ways = [
    ["message", "apns", "payload"], ["apns", "payload"], ["payload"], ["apns"], ["ios"], ["notification"], ["push"],
  ]

  /// Finds `aps`, and moves it to the outermost object if necessary.
  /// - Returns: False if there is no `aps` to check.
  mutating func findAps() -> Bool {
    if root["aps"] == nil, !unwrap(), !spell(), !gather() { return false }
    guard let aps = root["aps"] else { return false }
    guard aps.members != nil else {
      if !aps.isBroken {
        report(.wrongType, at: aps, "aps is \(aps.noun), and must be an object", mend: #"{"aps":{…}}"#)
      }
      return false
    }
    reportNested()
    return true
  }

  private mutating func unwrap() -> Bool {
    for way in Self.ways {
      guard let inner = way.reduce(root as LintValue?, { $0?[$1] }), inner["aps"] != nil,
        let member = root.member(way[0])
      else { continue }
      let service = Self.service(of: root)
      report(
        .vendorWrapper, at: member,
        "\(service): the payload for Apple's service is in /\(way.joined(separator: "/"))",
        mend: "send only that payload", isMended: true)
      root = inner
      return true
    }
    return false
  }

  private static func service(of root: LintValue) -> String {
    let isFirebase = root["message"]?["apns"] != nil || root["message"]?["notification"] != nil || root["to"] != nil
    return isFirebase ? "this is a request to Firebase Cloud Messaging" : "the payload is wrapped"
  }

  private mutating func spell() -> Bool {
    guard var members = root.members, let index = members.firstIndex(where: { $0.key.lowercased() == "aps" }) else {
      return false
    }
    report(
      .apsSpelling, at: members[index], "\(members[index].key.quoted) is read as a key of the app", mend: "write aps",
      replacement: #""aps""#, isMended: true)
    members[index].key = "aps"
    root.kind = .object(members)
    return true
  }

  /// Makes an `aps` from Apple's keys if they are in the outermost object.
  private mutating func gather() -> Bool {
    guard let members = root.members else { return false }
    if let member = members.first(where: { Self.isRequest($0) }) {
      report(
        .vendorWrapper, at: member, "this is a request to another service, not a payload for Apple's service",
        mend: "send it to that service, or write Apple's payload: an object with aps")
      return false
    }
    if let member = members.first(where: { $0.value["aps"] != nil }) {
      report(
        .apsElsewhere, at: member.value.member("aps") ?? member,
        "aps is in \(member.key.quoted), where iOS does not read it",
        mend: "move it to the outermost object")
      return false
    }
    let own = members.filter { isApples($0.key) }
    let isNeeded = isWhole && !headers.isFree && root["mdm"] == nil
    if own.isEmpty {
      if isNeeded {
        report(
          .apsMissing, at: root, "aps is missing, so that nothing is shown",
          mend: "put Apple's keys into an object called aps")
      }
      return false
    }
    let names = own.prefix(4).map(\.key).joined(separator: ", ")
    report(
      .apsMissing, at: own[0], "there is no aps around \(names)", mend: "put Apple's keys into an object called aps",
      isMended: true)
    let location = own[0].keyRange.lowerBound..<own[0].keyRange.lowerBound
    let aps = LintMember(key: "aps", keyRange: location, value: LintValue(kind: .object(own), range: location))
    root.kind = .object([aps] + members.filter { !isApples($0.key) })
    return true
  }

  private static func isRequest(_ member: LintMember) -> Bool {
    switch member.key {
    case "message": member.value["notification"] != nil || member.value["token"] != nil || member.value["apns"] != nil
    case "registration_ids", "include_player_ids", "include_subscription_ids": member.value.items != nil
    case "notification": member.value["title"] != nil || member.value["body"] != nil
    // Amazon's service receives the payload as a string.
    case "APNS", "APNS_SANDBOX", "APNS_VOIP": member.value.text != nil
    default: false
    }
  }

  /// True for a key that only Apple's payload has.
  func isApples(_ key: String) -> Bool { AppleKeys.aps[key] != nil && !AppleKeys.common.contains(key) }

  private mutating func reportNested() {
    for member in root.members ?? [] {
      guard let nested = member.value.member("aps"), nested.value.members != nil else { continue }
      report(
        .apsElsewhere, at: nested, "a second aps is in \(member.key.quoted), where iOS does not read it",
        mend: "move its keys to the aps of the outermost object")
    }
  }
}
