// SPDX-License-Identifier: Apache-2.0
import Configuration
import RelayIdentity
import RelayJSON
import RelayProtocol

/// The declaration of one configuration key: its names, type, default and meaning, and the part of
/// ``ServerConfiguration`` that it sets. ``SettingGroup`` lists all of them.
///
/// The parser of the file, the parser of the environment, the options with `--help`, the reload, and the reference page
/// all use this declaration.
package struct Setting: Sendable {
  /// The name in the configuration file, with dots between the names of objects: `limits.sendRate`.
  let key: String
  /// A shorter name, used for the option and for an environment variable in addition to that of the key. It takes
  /// precedence over the key. Is `nil` if there is none.
  let alias: String?
  let shape: SettingShape
  /// The default as text.
  let standard: String
  /// True if a reload does not apply a new value.
  let needsRestart: Bool
  let meaning: String
  /// True if a configuration file may contain the key. Only the path of the configuration file itself has false.
  let isInFile: Bool
  /// Sets the value from text. Is `nil` if only a configuration file can contain a value.
  private let setText: (@Sendable (String, inout ServerConfiguration) throws(StartupError) -> Void)?
  private let setList: (@Sendable ([Fields], inout ServerConfiguration) throws(RequestError) -> Void)?
  /// Copies the value of the first configuration to the second. Returns false if they are equal.
  private let copy: @Sendable (ServerConfiguration, inout ServerConfiguration) -> Bool
  /// False if no setting of its group has an option. ``SettingGroup`` sets it.
  var groupHasOptions = true

  /// - Parameters:
  ///   - standard: The default as text. If `nil`, the text of the value in a new ``ServerConfiguration``.
  ///   - meaning: One or two sentences for an operator.
  init<Value: Equatable & Sendable>(
    _ key: String, alias: String? = nil, _ type: SettingType<Value>,
    _ path: any WritableKeyPath<ServerConfiguration, Value> & Sendable, default standard: String? = nil,
    needsRestart: Bool = false, _ meaning: String
  ) {
    self.key = key
    self.alias = alias
    shape = type.shape
    let text = standard ?? type.text(ServerConfiguration()[keyPath: path])
    self.standard = text.isEmpty ? "none" : text
    self.needsRestart = needsRestart
    self.meaning = meaning
    isSwitch = ServerConfiguration()[keyPath: path] as? Bool == false
    isInFile = true
    if let parse = type.parse {
      setText = { text, configuration throws(StartupError) in configuration[keyPath: path] = try parse(text, key) }
    } else {
      setText = nil
    }
    if let parse = type.parseList {
      setList = { list, configuration throws(RequestError) in configuration[keyPath: path] = try parse(list) }
    } else {
      setList = nil
    }
    copy = { source, target in
      guard source[keyPath: path] != target[keyPath: path] else { return false }
      target[keyPath: path] = source[keyPath: path]
      return true
    }
  }

  init<Value: Equatable & Sendable>(
    _ key: String, alias: String? = nil, _ type: SettingType<Value>,
    _ path: any WritableKeyPath<ServerConfiguration, Value?> & Sendable, default standard: String? = nil,
    needsRestart: Bool = false, _ meaning: String
  ) {
    self.init(
      key, alias: alias, type.optional, path, default: standard, needsRestart: needsRestart, meaning)
  }

  init(_ limit: Limits.Entry) {
    let type = SettingType<Double>.number(limit.allowed, isWhole: limit.isWhole, limit.unit)
    self.init("limits.\(limit.name)", type, \.limits[limit], limit.meaning)
  }

  /// Declares the path of the configuration file. The command reads it before the other keys.
  init(fileNamedBy key: String, _ meaning: String) {
    self.key = key
    alias = nil
    shape = .file
    standard = "none"
    needsRestart = true
    self.meaning = meaning
    isSwitch = false
    isInFile = false
    setText = { _, _ in }
    setList = nil
    copy = { _, _ in false }
  }

  /// The name of the value on the command line: the alias, or the key if it has no alias.
  package var name: String { alias ?? key }

  /// The environment variables that set the key: `limits.sendRate` is `STILLWIRE_LIMITS_SEND_RATE`.
  var variables: [String] {
    guard setText != nil else { return [] }
    return [alias, key].compactMap { $0 }.map(EnvironmentNames.name)
  }

  /// The option of `serve` without its dashes: `limits.sendRate` is `limits-send-rate`.
  package var option: String? {
    guard groupHasOptions, setText != nil else { return nil }
    return EnvironmentNames.words(of: name).joined(separator: "-")
  }

  /// True if the option takes no value and sets the key to true.
  package let isSwitch: Bool

  /// The text of `--help`.
  package var help: String {
    let notes = isSwitch ? [] : [shape.note, standard == "none" ? nil : "default: \(standard)"].compactMap { $0 }
    return notes.isEmpty ? meaning : "\(meaning) (\(notes.joined(separator: "; ")))"
  }

  package var valueName: String { shape.valueName }

  /// Reads the value from `config` (options, then environment, then file), first under the alias, then under the key.
  /// Reads lists of objects from `file`. Without a value, the default remains. Throws ``StartupError`` with the name of
  /// the key.
  func apply(
    _ config: ConfigReader, _ file: ConfigurationFile?, to configuration: inout ServerConfiguration
  ) throws(StartupError) {
    guard isInFile else { return }
    if let setText {
      for name in [alias, key] {
        guard let name, let text = config.string(forKey: ConfigKey(name)) else { continue }
        return try setText(text, &configuration)
      }
    }
    guard let setList, let file, let list = file.lists[key] else { return }
    do {
      try setList(list, &configuration)
    } catch {
      throw file.failure(error)
    }
  }

  /// If the key needs a restart, restores the value of the running server. Returns true if it replaced a different
  /// value.
  func restore(from running: ServerConfiguration, in configuration: inout ServerConfiguration) -> Bool {
    needsRestart && copy(running, &configuration)
  }
}
