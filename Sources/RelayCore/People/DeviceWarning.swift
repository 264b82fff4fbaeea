// SPDX-License-Identifier: Apache-2.0
import RelayDelivery
import RelayJSON
import RelayProtocol
import RelayPush

/// A warning about a field of a device registration that the relay stores but does not use.
package struct DeviceWarning: Equatable, Sendable {
  package enum Code: String, Sendable, CaseIterable {
    case noVoIPEntitlement = "no_voip_entitlement"
  }

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
