// SPDX-License-Identifier: Apache-2.0
import ArgumentParser
import RelayServer

/// The options of one group of settings. The settings declare the names and the help.
///
/// swift-argument-parser 1.8.2 finds the options of a type as the children of its mirror. It has no other way to declare
/// options that are not properties. So the mirror of this type has a child for each setting.
struct SettingOptions<Source: SettingSource>: ParsableArguments, CustomReflectable {
  /// The options that take a value, by the names of the settings.
  private var options: [String: Option<String?>] = [:]
  private var flags: [String: Flag<Bool>] = [:]
  private let settings: [Setting]

  /// The parser creates this type many times at each start.
  init() { self = Source.options }

  init(_ group: SettingGroup) {
    settings = group.settings
    for setting in settings {
      guard let option = setting.option else { continue }
      let name = NameSpecification.customLong(option)
      let help = ArgumentHelp(setting.help, valueName: setting.valueName)
      if setting.isSwitch {
        flags[setting.name] = Flag(wrappedValue: false, name: name, help: help)
      } else {
        options[setting.name] = Option(name: name, help: help)
      }
    }
  }

  init(from decoder: any Decoder) throws {
    self.init()
    let container = try decoder.container(keyedBy: Key.self)
    for name in options.keys { options[name] = try container.decode(Option<String?>.self, forKey: Key(name)) }
    for name in flags.keys { flags[name] = try container.decode(Flag<Bool>.self, forKey: Key(name)) }
  }

  var customMirror: Mirror {
    let children: [Mirror.Child] = settings.compactMap { setting in
      let child: Any? = options[setting.name] ?? flags[setting.name]
      return child.map { (setting.name, $0) }
    }
    return Mirror(self, children: children)
  }

  /// The values of the options on the command line, by the names of the settings.
  var given: [String: String] {
    let switches = flags.filter(\.value.wrappedValue).mapValues { _ in "true" }
    return options.compactMapValues(\.wrappedValue).merging(switches) { $1 }
  }

  private struct Key: CodingKey {
    let stringValue: String
    var intValue: Int? { nil }

    init(_ name: String) { stringValue = name }
    init?(stringValue: String) { self.init(stringValue) }
    init?(intValue: Int) { nil }
  }
}

/// A group of settings as a type, because the parser needs a type for each group of options.
protocol SettingSource {
  /// The options without values.
  static var options: SettingOptions<Self> { get }
}

enum CommonSettings: SettingSource { static let options = SettingOptions<Self>(.common) }
enum DataSettings: SettingSource { static let options = SettingOptions<Self>(.data) }
enum TokenSettings: SettingSource { static let options = SettingOptions<Self>(.identity) }
enum NetworkSettings: SettingSource { static let options = SettingOptions<Self>(.network) }
enum OperationSettings: SettingSource { static let options = SettingOptions<Self>(.operation) }
enum AuditOptions: SettingSource { static let options = SettingOptions<Self>(.audit) }
enum ClusterOptions: SettingSource { static let options = SettingOptions<Self>(.cluster) }
enum LimitSettings: SettingSource { static let options = SettingOptions<Self>(.limits) }
enum PaceSettings: SettingSource { static let options = SettingOptions<Self>(.pace) }
enum RoomSettings: SettingSource { static let options = SettingOptions<Self>(.rooms) }
