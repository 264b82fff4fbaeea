// SPDX-License-Identifier: Apache-2.0
import ArgumentParser
import Foundation
import RelayServer
import RelayStore

/// `stillwire restore`: replaces the database by a backup.
struct RestoreCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "restore",
    abstract: "Replace the database by a backup.",
    discussion: """
      Stop the relay first. The present database stays beside the new one, as stillwire.db.before-1 or with the next \
      free number. The backup stays as it is. If the command fails or is killed, the folder has the old database or the \
      new one.

      At its next start, the relay begins new epochs, so that clients load the history again, and cancels the pushes of \
      the backup. A node of a cluster needs `stillwire cluster reset` before its start.
      """
  )

  @OptionGroup(title: SettingGroup.data.title) var data: SettingOptions<DataSettings>

  @Argument(help: "Backup, or another database of a relay.", completion: .file())
  var file: String

  func run() throws {
    signal(SIGXFSZ, SIG_IGN)
    do {
      let folder = try ConfigurationSources.read(data.given, only: .data).dataFolder
      let restored = try Backup.restore(file, to: folder)
      print(restored.contents.text(of: file, named: "restored"))
      print("before:   \(restored.kept ?? "no database")")
      if restored.contents.isOfCluster {
        print("The backup is that of a node of a cluster. In a cluster, run `stillwire cluster reset` now.")
      }
    } catch {
      throw ExitCode.failure(error)
    }
  }
}
