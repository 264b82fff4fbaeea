// SPDX-License-Identifier: Apache-2.0
public import RelayProtocol

/// A permission of an app that Apple grants.
public enum AppEntitlement: String, CaseIterable, Sendable {
  case communication, timeSensitive, critical, voip, filtering
}

/// The entitlements of the apps that devices belong to.
public struct AppEntitlements: Equatable, Sendable {
  private let apps: [String: Set<AppEntitlement>]

  /// - Parameter apps: The entitlements of each configured app, by its name. Without any configured app, every app has
  ///   all entitlements.
  public init(_ apps: [String: Set<AppEntitlement>] = [:]) { self.apps = apps }

  /// True if the app of a device has an entitlement, or if that app is not configured.
  public func has(_ entitlement: AppEntitlement, _ device: Device) -> Bool {
    device.app.flatMap { apps[$0] }?.contains(entitlement) ?? true
  }

  /// True if calls ring on a device: it has a VoIP token, and its app the entitlement.
  public func rings(_ device: Device) -> Bool { device.voipToken != nil && has(.voip, device) }

  /// True if the device has a token for calls that the relay does not use, because its app has no entitlement for VoIP.
  public func ignoresVoIPToken(of device: Device) -> Bool { device.voipToken != nil && !has(.voip, device) }
}
