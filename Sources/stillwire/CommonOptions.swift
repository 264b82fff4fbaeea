// SPDX-License-Identifier: Apache-2.0
import ArgumentParser

/// The options of `serve` that most installations set. The help lists them first.
struct CommonOptions: ParsableArguments {
  @Option(help: "Port to listen on; 0 takes any free port (default: 8080).")
  var port: String?

  @Option(help: ArgumentHelp("Folder of the database (default: data).", valueName: "folder"))
  var data: String?

  @Option(help: ArgumentHelp("File with a shared secret: clients then need tokens (HS256).", valueName: "file"))
  var secretFile: String?

  @Option(help: "Address to listen on (default: 127.0.0.1).")
  var address: String?

  @Option(help: ArgumentHelp("Folder of the page (default: no page).", valueName: "folder"))
  var web: String?

  @Option(
    help: ArgumentHelp(
      "Origins of the web pages that may use the relay, with spaces between (default: the relay's own).",
      valueName: "list"))
  var origins: String?

  @Option(help: ArgumentHelp("Configuration file, JSON (default: none).", valueName: "file"))
  var config: String?

  @Option(
    help: ArgumentHelp("trace, debug, info, notice, warning, error or critical (default: info).", valueName: "level"))
  var logLevel: String?

  @Flag(help: "Print what is set and where, or what is wrong with it, and end.")
  var check = false

  /// The options that were given, by the keys of the configuration.
  var given: [String: String?] {
    [
      "config": config, "address": address, "port": port, "data": data, "web": web, "secretFile": secretFile,
      "origins": origins, "logLevel": logLevel,
    ]
  }
}
