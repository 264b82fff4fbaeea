// SPDX-License-Identifier: Apache-2.0
import ArgumentParser
import Foundation
import RelayIdentity
import RelayServer

struct APIKey: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "api-key",
    abstract: "Make a key for a backend, or take one away.",
    discussion: """
      The key is printed once; the file keeps its hash. Give the file to `stillwire serve --api-keys-file`; a relay that \
      runs reads it again on SIGHUP.
      """
  )

  @Argument(help: "What the key is called.")
  var name: String

  @Option(help: "Where the hashes are.")
  var file: String

  @Flag(help: "Take the key of this name away.")
  var revoke = false

  func run() throws {
    do {
      if revoke {
        try APIKeys.remove(name, from: file)
      } else {
        print(try APIKeys.add(name, to: file))
      }
    } catch {
      throw ExitCode.failure(error)
    }
  }
}
