// SPDX-License-Identifier: Apache-2.0
package import RelayDelivery
package import RelayJSON
package import RelayProtocol
package import RelayPush

/// A warning about a field of a device registration, or of preferences, that the relay stores but cannot use as it is, or
/// about another device that the registration has ended.
package struct ReplyWarning: Equatable, Sendable {
  package enum Code: String, Sendable, CaseIterable {
    case noVoIPEntitlement = "no_voip_entitlement"
    case accountEnded = "account_ended"
    case unknownTimeZone = "unknown_time_zone"
    case lastTimeZoneRules = "last_time_zone_rules"
    case noTimeZone = "no_time_zone"
  }

  /// The registration has ended the device of another user.
  package static let accountEnded = ReplyWarning(
    code: .accountEnded,
    message: "the device of another user with this token has ended, because a token belongs to one app and to at most "
      + "\(Device.maxAccounts) users",
    at: "/token")

  package var code: Code
  package var message: String
  /// The JSON pointer of the field in the request.
  package var at: String
}

extension Apps {
  fileprivate func warnings(about device: Device) -> [ReplyWarning] {
    guard entitlements.ignoresVoIPToken(of: device) else { return [] }
    return [
      ReplyWarning(
        code: .noVoIPEntitlement,
        message: "the app has no entitlement voip in the relay's configuration, so that calls come as alerts",
        at: "/voipToken")
    ]
  }
}

extension TimeZones {
  fileprivate func warnings(about device: Device) -> [ReplyWarning] {
    guard let zone = device.timeZone else { return [] }
    guard knows(zone) else {
      return [
        ReplyWarning(
          code: .unknownTimeZone,
          message: "the relay does not know this time zone, so that quiet hours use that of another device, or UTC",
          at: "/timeZone")
      ]
    }
    return warnings(aboutLastRulesOf: zone, at: "/timeZone")
  }

  fileprivate func warnings(aboutLastRulesOf zone: String, at pointer: String) -> [ReplyWarning] {
    guard version != nil, isKept(zone) else { return [] }
    return [
      ReplyWarning(
        code: .lastTimeZoneRules,
        message: "the system's zone files lack this time zone, so that it keeps its last rules", at: pointer)
    ]
  }

  fileprivate func warnings(about recipient: Recipient) -> [ReplyWarning] {
    guard let hours = recipient.preferences.quietHours else { return [] }
    let pointer = "/quietHours/timeZone"
    if let zone = hours.timeZone { return warnings(aboutLastRulesOf: zone, at: pointer) }
    guard recipient.homeZone(in: self) == nil else { return [] }
    return [
      ReplyWarning(
        code: .noTimeZone,
        message: "no device has registered with a time zone that the relay knows, so that quiet hours use UTC",
        at: pointer)
    ]
  }
}

/// The warnings that a reply contains. The relay evaluates them for each reply.
package struct ReplyWarnings: Sendable {
  package let apps: Apps
  package let zones: TimeZones

  package init(apps: Apps, zones: TimeZones) {
    (self.apps, self.zones) = (apps, zones)
  }

  package func about(_ device: Device) -> [ReplyWarning] {
    apps.warnings(about: device) + zones.warnings(about: device)
  }

  /// The warnings about the preferences of a user.
  package func about(_ recipient: Recipient) -> [ReplyWarning] { zones.warnings(about: recipient) }
}

extension [ReplyWarning] {
  /// Writes the member `warnings`, if there are any.
  package func write(to object: inout JSONWriter.Object) {
    guard !isEmpty else { return }
    object.array("warnings") { list in
      for warning in self {
        list.object {
          $0["code"] = warning.code.rawValue
          $0["message"] = warning.message
          $0["at"] = warning.at
        }
      }
    }
  }
}
