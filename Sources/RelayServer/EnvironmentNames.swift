// SPDX-License-Identifier: Apache-2.0
import RelayProtocol

/// The names of the environment variables for the configuration keys.
public enum EnvironmentNames {
  static let prefix = "STILLWIRE_"

  /// Every variable that a relay reads.
  static let known = Set(Setting.all.flatMap(\.variables))

  /// The keys that only a configuration file can contain, by the names that their variables would have.
  private static let fileKeys = Dictionary(
    uniqueKeysWithValues: Setting.all.filter(\.variables.isEmpty).map { (name(of: $0.key), $0.key) })

  /// The variable of a key: `limits.sendRate` is `STILLWIRE_LIMITS_SEND_RATE`.
  static func name(of key: String) -> String { prefix + words(of: key).joined(separator: "_").uppercased() }

  /// The words of a key, in lower case: `limits.sendRate` is `limits`, `send` and `rate`.
  static func words(of key: String) -> [String] {
    var words = [""]
    for character in key {
      if character == "." || character.isUppercase { words.append("") }
      if character != "." { words[words.count - 1] += character.lowercased() }
    }
    return words
  }

  /// Returns one line for each variable that begins with `STILLWIRE_` and has no effect, with the most similar known
  /// name. Returns at most ``maxComplaints`` lines.
  public static func complaints(about variables: some Sequence<String>) -> [String] {
    variables.filter { $0.hasPrefix(prefix) && !known.contains($0) }.sorted().prefix(maxComplaints).map { variable in
      "the environment variable \(variable.prefix(maxShown)) has no effect\(hint(about: variable))"
    }
  }

  private static func hint(about variable: String) -> String {
    if let key = fileKeys[variable] { return ": \(key) is a key of the configuration file only" }
    // Compares the names without the prefix, which would make all names similar.
    let own = String(variable.dropFirst(prefix.count))
    let names = known.map { String($0.dropFirst(prefix.count)) }
    return own.nearest(of: names).map { "; did you mean \(prefix)\($0)?" } ?? ""
  }

  static let maxComplaints = 20
  private static let maxShown = 64
}
