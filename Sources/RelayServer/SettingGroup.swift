// SPDX-License-Identifier: Apache-2.0
import RelayProtocol

/// A group of settings that `--help` and the reference page show together. The groups are in `SettingGroup+….swift`.
package struct SettingGroup: Sendable {
  package let title: String
  /// The note above the table of the reference page.
  let note: String?
  package let settings: [Setting]

  init(_ title: String, note: String? = nil, hasOptions: Bool = true, _ settings: [Setting]) {
    self.title = title
    self.note = note
    self.settings = settings.map { setting in
      var setting = setting
      setting.groupHasOptions = hasOptions
      return setting
    }
  }

  /// The settings of commands that need only the data folder.
  package static let data = SettingGroup(
    "Data", common.settings.filter { ["data", "config"].contains($0.name) })

  /// All groups, in the order of the reference page.
  package static let all = [
    common, identity, network, requests, operation, audit, cluster, limits, pace, rooms, apps, apple, webPush,
  ]
}

extension Setting {
  static let all = SettingGroup.all.flatMap(\.settings)
}

extension SettingShape {
  /// The shapes of all keys of a configuration file, by key.
  static let ofFile = Dictionary(uniqueKeysWithValues: Setting.all.filter(\.isInFile).map { ($0.key, $0.shape) })
}
