// SPDX-License-Identifier: Apache-2.0

/// Generates the reference page of the configuration, in Markdown: `deploy/configuration.md`. Its content is in the
/// declarations of ``SettingGroup``.
package enum ConfigurationReference {
  package static var page: String { ([introduction] + SettingGroup.all.map(section)).joined(separator: "\n\n") + "\n" }

  private static let introduction = """
    # Configuration reference

    This page is for operators of a relay. It lists every configuration key with its type, range, unit, default and
    meaning. `stillwire reference` prints this page from the declarations in `Sources/RelayServer` and in
    `Sources/RelayProtocol/Limits.swift`.

    The relay takes the value of a key from the first of these sources that sets it:

    1. the option of `stillwire serve`
    2. the environment variable
    3. the configuration file, whose path is in `--config` or `STILLWIRE_CONFIG`

    The configuration file is one JSON object. A dot in a key separates the names of nested objects:

    ```json
    {
      "port": 8080, "data": "/var/lib/stillwire",
      "origins": ["https://app.example.org", "https://relay.example.org"],
      "tokens": {"secretFile": "secret"}, "limits": {"sendRate": 20, "history": 100}
    }
    ```

    - In the file, numbers, `true` and `false` are JSON values, and lists are JSON arrays. In options and variables, the
      items of a list are separated by spaces.
    - Numbers are decimal, also in options and variables.
    - In the file, paths are relative to the folder of the file.
    - A setting of type file, and the configuration file itself, must lead to a regular file. The relay reads no folder,
      no named pipe and no device.
    - An object and a key with a dot for one of its members, such as `limits` and `limits.sendRate`, exclude each other.
    - An option of type true or false whose default is false takes no value: `--metrics-open` sets its key to `true`.
    - The relay rejects a file with comments, unknown keys or wrong types, and prints the position of the error.
    - `stillwire serve --check` prints each setting with its source, or the error.

    The column “change” states when a new value in the configuration file applies. With “reload”, the relay applies
    it at a reload (SIGHUP, `systemctl reload stillwire`). With “restart”, a reload logs a warning, and only a restart
    applies the value.

    A reload reads the configuration file again, and the files of keys, wherever their paths are set. Options and
    environment variables never change while the relay runs. A new value in one of them always needs a restart, also
    in the variables of `stillwire.env`.
    """

  private static func section(_ group: SettingGroup) -> String {
    let settings = table(
      ["key", "option", "variable", "type", "default", "change", "meaning"], group.settings.map(row))
    let members = group.settings.compactMap { setting in
      guard case .objects(let members) = setting.shape.form else { return String?.none }
      let rows = members.map { ["`\($0.name)`", $0.shape.type, $0.standard, $0.meaning] }
      return "Members of an object in `\(setting.key)`:\n\n"
        + table(["member", "type", "default", "meaning"], rows)
    }
    return (["## \(group.title)", group.note, settings].compactMap { $0 } + members).joined(separator: "\n\n")
  }

  private static func row(_ setting: Setting) -> [String] {
    [
      setting.isInFile ? "`\(setting.key)`" : "-", setting.option.map { "`--\($0)`" } ?? "-",
      setting.variables.isEmpty ? "-" : setting.variables.map { "`\($0)`" }.joined(separator: ", "),
      setting.shape.type, setting.standard, setting.needsRestart ? "restart" : "reload", setting.meaning,
    ]
  }

  private static func table(_ head: [String], _ rows: [[String]]) -> String {
    ([head, head.map { _ in "---" }] + rows).map { "| \($0.joined(separator: " | ")) |" }.joined(separator: "\n")
  }
}
