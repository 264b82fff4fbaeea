// SPDX-License-Identifier: Apache-2.0
import ArgumentParser
import Foundation
import RelayProtocol
import RelayServer
import RelayStore

/// `stillwire backup`: copies the database to a file.
struct BackupCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "backup",
    abstract: "Copy the database to a file, also while the relay runs.",
    discussion: """
      The backup contains everything that the relay has acknowledged before. The command checks the whole copy, and \
      prints what it contains. The file gets its name only when it is complete and on disk: a backup that fails leaves \
      an earlier file as it is. If the command is killed, it leaves the folder FILE.partial, which the next backup to \
      the same file replaces.

      The file contains all messages, device tokens and the secret of signatures. Only its owner can read it.
      """
  )

  @OptionGroup(title: SettingGroup.data.title) var data: SettingOptions<DataSettings>

  @Argument(help: "File of the backup.", completion: .file())
  var file: String

  @Flag(help: "Replace an existing file.")
  var force = false

  func run() throws {
    // A write above the limit of file sizes then returns an error.
    signal(SIGXFSZ, SIG_IGN)
    do {
      let folder = try ConfigurationSources.read(data.given, only: .data).dataFolder
      let start = ContinuousClock.now
      let contents = try Backup.make(folder: folder, at: file, replaces: force)
      print(contents.text(of: file, named: "backup"))
      print("time:     \(((ContinuousClock.now - start).seconds * 10).rounded() / 10) s")
    } catch {
      throw ExitCode.failure(error)
    }
  }
}

extension BackupContents {
  /// The lines that an operator compares with the relay.
  func text(of file: String, named name: String) -> String {
    let lines = [
      (name, file), ("size", "\(size) bytes"), ("users", "\(users)"), ("rooms", "\(rooms)"),
      ("messages", newestMessage.map { "\(messages), the newest of \($0)" } ?? "0"), ("devices", "\(devices)"),
      ("pushes", "\(pushes)"),
    ]
    return lines.map { name, value in "\(name):".padded(to: 10) + value }
      .joined(separator: "\n")
  }
}
