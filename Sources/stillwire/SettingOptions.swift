// SPDX-License-Identifier: Apache-2.0
import ArgumentParser
import RelayServer

/// The options of one group of settings. The settings declare the names and the help.
///
/// swift-argument-parser 1.8.2 finds the options of a type as the children of its mirror, and offers no other way to
/// declare options that are not properties. So the mirror of this type has a child for each setting.
struct SettingOptions<Source: SettingSource>: ParsableArguments, CustomReflectable {
  private enum Declared {
    case option(Option<String?>)
    case flag(Flag<Bool>)
  }

  private var declared: [(setting: Setting, argument: Declared)] = []

  init() {
    for setting in Source.group.settings {
      guard let name = setting.option else { continue }
      let help = ArgumentHelp(stringLiteral: setting.help)
      let argument: Declared =
        if setting.isSwitch {
          .flag(Flag(wrappedValue: false, name: .customLong(name), help: help))
        } else {
          .option(Option(name: .customLong(name), help: ArgumentHelp(setting.help, valueName: setting.valueName)))
        }
      declared.append((setting, argument))
    }
  }

  init(from decoder: any Decoder) throws {
    self.init()
    let container = try decoder.container(keyedBy: Key.self)
    for index in declared.indices {
      let key = Key(stringValue: declared[index].setting.name)
      declared[index].argument =
        switch declared[index].argument {
        case .option: .option(try container.decode(Option<String?>.self, forKey: key))
        case .flag: .flag(try container.decode(Flag<Bool>.self, forKey: key))
        }
    }
  }

  var customMirror: Mirror {
    Mirror(
      self,
      children: declared.map { setting, argument in
        switch argument {
        case .option(let option): (setting.name, option)
        case .flag(let flag): (setting.name, flag)
        }
      })
  }

  /// The values of the options on the command line, by the names of the settings.
  var given: [String: String] {
    var given: [String: String] = [:]
    for (setting, argument) in declared {
      switch argument {
      case .option(let option): given[setting.name] = option.wrappedValue
      case .flag(let flag): if flag.wrappedValue { given[setting.name] = "true" }
      }
    }
    return given
  }

  private struct Key: CodingKey {
    let stringValue: String
    var intValue: Int? { nil }

    init(stringValue: String) { self.stringValue = stringValue }
    init?(intValue: Int) { nil }
  }
}

/// A group of settings as a type, because the parser needs a type for each group of options.
protocol SettingSource {
  static var group: SettingGroup { get }
}

enum CommonSettings: SettingSource { static let group = SettingGroup.common }
enum TokenSettings: SettingSource { static let group = SettingGroup.identity }
enum NetworkSettings: SettingSource { static let group = SettingGroup.network }
enum OperationSettings: SettingSource { static let group = SettingGroup.operation }
enum LimitSettings: SettingSource { static let group = SettingGroup.limits }
