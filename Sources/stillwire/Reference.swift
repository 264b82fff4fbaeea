// SPDX-License-Identifier: Apache-2.0
import ArgumentParser
import RelayServer

/// `stillwire reference`: prints the page that is stored as `deploy/configuration.md`.
struct Reference: ParsableCommand {
  static let configuration = CommandConfiguration(
    abstract: "Print the reference of all configuration keys, in Markdown.")

  func run() { print(ConfigurationReference.page, terminator: "") }
}
