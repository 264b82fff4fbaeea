// SPDX-License-Identifier: Apache-2.0
import RelayDelivery
import RelayJSON
import RelayProtocol
import RelayPush

/// A warning about a device registration: the relay stores a field but does not use it, or another device has ended.
package struct DeviceWarning: Equatable, Sendable {
  package enum Code: String, Sendable, CaseIterable {
    case noVoIPEntitlement = "no_voip_entitlement"
    case accountEnded = "account_ended"
  }

  /// The registration has ended the device of another user.
  static let accountEnded = DeviceWarning(
    code: .accountEnded,
    message: "the device of another user with this token has ended, because a token belongs to one app and to at most "
      + "\(Device.maxAccounts) users",
    at: "/token")

  package var code: Code
  package var message: String
  /// The JSON pointer of the field in the registration.
  package var at: String
}

extension Apps {
  func warnings(about device: Device) -> [DeviceWarning] {
    guard entitlements.ignoresVoIPToken(of: device) else { return [] }
    return [
      DeviceWarning(
        code: .noVoIPEntitlement,
        message: "the app has no entitlement voip in the relay's configuration, so that calls come as alerts",
        at: "/voipToken")
    ]
  }
}

extension [DeviceWarning] {
  /// Writes the member `warnings`, if there are any.
  func write(to object: inout JSONWriter.Object) {
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
