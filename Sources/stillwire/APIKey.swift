// SPDX-License-Identifier: Apache-2.0
import ArgumentParser
import Foundation
import RelayIdentity
import RelayServer

/// `stillwire api-key`: adds a backend's key to a file of hashes, or removes it.
struct APIKey: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "api-key",
    abstract: "Create or revoke a key for a backend.",
    discussion: """
      The command prints the key once. The file keeps only its hash. Start the relay with `stillwire serve \
      --api-keys-file`. A running relay reads the file again on SIGHUP.
      """
  )

  @Argument(help: "Name of the key.")
  var name: String

  @Option(help: "File with the names and hashes of the keys.")
  var file: String

  @Option(help: "Scope of the key: a name in `apiKeyScopes` of the configuration. Without it, the key has all rights.")
  var scope: String?

  @Flag(help: "Revoke the key of this name.")
  var revoke = false

  func validate() throws {
    if revoke, scope != nil { throw ValidationError("--scope belongs to a new key, and not to --revoke") }
  }

  func run() throws {
    do {
      if revoke {
        try APIKeys.remove(name, from: file)
      } else {
        print(try APIKeys.add(name, scope: scope, to: file))
      }
    } catch {
      throw ExitCode.failure(error)
    }
  }
}
