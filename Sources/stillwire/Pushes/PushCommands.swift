// SPDX-License-Identifier: Apache-2.0
import ArgumentParser

struct PushCommands: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "pushes", abstract: "Look into the queue of pushes of a relay that runs.",
    subcommands: [ListPushes.self, ExplainPush.self, RetryPushes.self]
  )
}

struct ListPushes: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "list", abstract: "List pushes, newest first.",
    discussion: "What is finished is kept for 3 days.")

  @OptionGroup var relay: RelayOptions

  @Option(
    help: ArgumentHelp(
      "Only those that are waiting, held, merged, ready, sending, retrying, sent, cancelled, expired or dead.",
      valueName: "state"))
  var state: String?

  @Option(help: "Only those to this user.")
  var user: String?

  @Option(help: ArgumentHelp("How many, 1 to 100.", valueName: "n"))
  var limit = 50

  @Option(help: ArgumentHelp("Those that are older than this push.", valueName: "id"))
  var after: String?

  @Flag(help: "Print the relay's JSON.")
  var json = false

  func run() async throws {
    let query = [("state", state), ("user", user), ("limit", String(limit)), ("after", after)]
      .compactMap { name, value in value.map { "\(name)=\(RelayOptions.escaped($0))" } }.joined(separator: "&")
    let answer = try await relay.send("GET", "/v1/pushes?\(query)")
    if json { return try RelayOptions.print(answer) }
    let page = try RelayOptions.read(PushPage.self, from: answer)
    print(PushTable(page.pushes).text, terminator: "")
    if page.more, let last = page.pushes.last { print("More: --after \(last.id)") }
  }
}

struct ExplainPush: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "explain", abstract: "Say what became of a push, and why.",
    discussion: "The id is `notification` of the payload's `communication`, and `apns-id`.")

  @OptionGroup var relay: RelayOptions

  @Argument(help: "The push.")
  var id: String

  @Flag(help: "Print the relay's JSON, with all facts that it was decided by.")
  var json = false

  func run() async throws {
    let answer = try await relay.send("GET", "/v1/pushes/\(RelayOptions.escaped(id))")
    if json { return try RelayOptions.print(answer) }
    print(try RelayOptions.read(PushStory.self, from: answer).text)
  }
}

struct RetryPushes: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "retry", abstract: "Have dead letters sent again.",
    discussion: """
      Each is decided anew: one that was read meanwhile is not sent. One that has expired, or whose device is gone, is \
      refused. To say it twice is harmless. The exit code is 0 when none was refused.
      """)

  @OptionGroup var relay: RelayOptions

  @Argument(help: "The pushes.")
  var ids: [String]

  @Flag(help: "Print the relay's JSON, a line for each.")
  var json = false

  func run() async throws {
    var failure: ExitCode?
    for id in ids {
      do {
        let answer = try await relay.send("POST", "/v1/pushes/\(RelayOptions.escaped(id))/retry")
        if json {
          try RelayOptions.print(answer)
        } else {
          let push = try RelayOptions.read(PushStory.self, from: answer)
          print("\(push.id): \(push.summary)")
        }
      } catch let code as ExitCode {
        failure = code
      }
    }
    if let failure { throw failure }
  }
}
