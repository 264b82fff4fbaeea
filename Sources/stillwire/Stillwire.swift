// SPDX-License-Identifier: Apache-2.0
import ArgumentParser
import RelayProtocol

/// The command `stillwire`. Each subcommand has its own file.
@main
struct Stillwire: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "stillwire",
    abstract: "A WebSocket relay that knows when not to disturb.",
    version: stillwireVersion,
    subcommands: [
      Serve.self, BackupCommand.self, RestoreCommand.self, ClusterCommands.self, Token.self, APIKey.self, VAPID.self,
      Lint.self, PushCommands.self, RoomList.self, UserList.self, SessionList.self, Top.self,
      DocumentCommand.self, Reference.self,
    ]
  )
}
