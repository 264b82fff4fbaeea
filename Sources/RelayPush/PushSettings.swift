// SPDX-License-Identifier: Apache-2.0
package import RelayDelivery
package import RelayProtocol

/// The settings that the push worker reads for every push. A reload of the configuration replaces them.
package struct PushSettings: Sendable {
  package var apps: Apps
  /// The relay's own texts.
  package var texts: PushTextTable
  /// The time zones of quiet hours.
  package var zones: TimeZones
  /// True if pushes may contain the texts of the room's messages.
  package var hasPreview: @Sendable (RoomID) -> Bool

  package init(
    apps: Apps = Apps(), texts: PushTextTable = PushTextTable(), zones: TimeZones = TimeZones(),
    hasPreview: @escaping @Sendable (RoomID) -> Bool = { _ in true }
  ) {
    self.apps = apps
    self.texts = texts
    self.zones = zones
    self.hasPreview = hasPreview
  }
}
