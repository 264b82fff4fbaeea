// SPDX-License-Identifier: Apache-2.0
import RelayProtocol

/// The names of environment variables that set something.
public enum EnvironmentNames {
  static let prefix = "STILLWIRE_"

  /// Every variable that a relay reads. Lists of objects are set in a file alone.
  static let known: Set<String> = {
    var keys: [String] = ["config", "secretFile"]
    for (key, kind) in ConfigurationKey.all {
      if case .objects = kind, key != "tokens.keys" { continue }
      keys.append(key)
    }
    return Set(keys.map { name(of: $0) })
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
      let hint = variable.nearest(of: known).map { "; did you mean \($0)?" } ?? ""
      return "the environment variable \(variable.prefix(maxShown)) sets nothing\(hint)"
    }
  }

  static let maxComplaints = 20
  private static let maxShown = 64
}
