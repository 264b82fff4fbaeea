// SPDX-License-Identifier: Apache-2.0
package import RelayGateways
import RelayJSON
package import RelayProtocol
package import RelayPush

/// The devices that the relay can push to.
package struct PushTargets: Sendable {
  package var apps = Apps()
  /// The push services whose subscriptions of browsers the relay accepts. Is `nil` if the relay does not push to
  /// browsers.
  package var services: PushServices?
  /// True if simulated phones may register.
  package var takesSimulators = true

  package func reaches(_ platform: Platform) -> Bool {
    switch platform {
    case .simulator: takesSimulators
    case .apns: apps.list.contains { $0.credential != nil }
    case .http: apps.list.contains { $0.matrix != nil }
    case .webpush: services != nil
    }
  }
}

extension RelaySettings {
  package var pushTargets: PushTargets {
    PushTargets(
      apps: apps, services: webPushKey == nil ? nil : pushServices, takesSimulators: takesSimulators)
  }
}
