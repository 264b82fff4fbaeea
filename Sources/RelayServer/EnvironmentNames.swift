// SPDX-License-Identifier: Apache-2.0
import RelayProtocol

/// The names of environment variables that set something.
public enum EnvironmentNames {
  static let prefix = "STILLWIRE_"

  /// Every variable that a relay reads.
  static let known = Set((["config", "secretFile"] + ConfigurationKey.all.keys).map { name(of: $0) })
    .subtracting(fileKeys.keys)

  /// The keys that are set in a configuration file alone, by the variables that they would have.
  private static let fileKeys: [String: String] = {
    var keys: [String: String] = [:]
    for (key, kind) in ConfigurationKey.all where key != "tokens.keys" {
      if case .objects = kind { keys[name(of: key)] = key }
    }
    return keys
  }()

  /// The variable of a key: `limits.sendRate` is `STILLWIRE_LIMITS_SEND_RATE`.
  static func name(of key: String) -> String {
    var name = prefix
    for character in key {
      if character == "." { name += "_" } else { name += (character.isUppercase ? "_" : "") + character.uppercased() }
    }
    return name
  }

  /// One line for each variable that begins with `STILLWIRE_` and sets nothing, with the name that was probably meant.
  public static func complaints(about variables: some Sequence<String>) -> [String] {
    variables.filter { $0.hasPrefix(prefix) && !known.contains($0) }.sorted().prefix(maxComplaints).map { variable in
      "the environment variable \(variable.prefix(maxShown)) sets nothing\(hint(about: variable))"
    }
  }

  private static func hint(about variable: String) -> String {
    if let key = fileKeys[variable] { return ": \(key) is a key of the configuration file alone" }
    // Without the prefix, which would make names look more alike than they are.
    let own = String(variable.dropFirst(prefix.count))
    let names = known.map { String($0.dropFirst(prefix.count)) }
    return own.nearest(of: names).map { "; did you mean \(prefix)\($0)?" } ?? ""
  }

  static let maxComplaints = 20
  private static let maxShown = 64
}
