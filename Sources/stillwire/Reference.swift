// SPDX-License-Identifier: Apache-2.0
import ArgumentParser
import RelayServer

struct Reference: ParsableCommand {
  static let configuration = CommandConfiguration(
    abstract: "Print the reference of all configuration keys, in Markdown.")

  func run() { print(ConfigurationReference.page, terminator: "") }
}
