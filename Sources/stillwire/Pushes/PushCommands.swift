// SPDX-License-Identifier: Apache-2.0
import ArgumentParser
import Foundation

/// `stillwire pushes`: commands for operators, which send requests to a running relay.
struct PushCommands: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "pushes", abstract: "Inspect and retry the pushes of a running relay.",
    subcommands: [ListPushes.self, ExplainPush.self, RetryPushes.self], defaultSubcommand: ListPushes.self
  )
}

struct ListPushes: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "list", abstract: "List pushes, newest first.",
    discussion: "The relay keeps finished pushes for 3 days.")

  @OptionGroup var relay: RelayOptions

  @Option(
    help: ArgumentHelp(
      "Only pushes in this state: waiting, held, merged, ready, sending, retrying, sent, cancelled, expired or dead.",
      valueName: "state"))
  var state: String?

  @Option(help: "Only pushes to this user.")
  var user: String?

  @Option(help: "Only dead letters with this note, such as DeviceTokenNotForTopic. Needs --state dead.")
  var note: String?

  @Option(help: ArgumentHelp("Maximum number of pushes, 1 to 100.", valueName: "n"))
  var limit = 50

  @Option(help: ArgumentHelp("Only pushes that are older than this push.", valueName: "id"))
  var after: String?

  @Flag(help: "Print the relay's JSON.")
  var json = false

  func run() async throws {
    let answer = try await relay.list(
      "/v1/pushes",
      [("state", state), ("user", user), ("note", note), ("limit", String(limit)), ("after", after)])
    if json { return try RelayOptions.print(answer) }
    let page = try RelayOptions.read(PushPage.self, from: answer)
    print(TextTable(page.pushes).text, terminator: "")
    if page.more, let last = page.pushes.last { print("More: --after \(last.id)") }
  }
}

struct ExplainPush: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "explain", abstract: "Show the state of a push, and the reasons for it.",
    discussion: "The id of a push is in its payload (`communication.notification`) and in its header `apns-id`.")

  @OptionGroup var relay: RelayOptions

  @Argument(help: "Id of the push.")
  var id: String

  @Flag(help: "Print the relay's JSON, with all facts of the decision.")
  var json = false

  func run() async throws {
    let answer = try await relay.send("GET", "/v1/pushes/\(RelayOptions.escaped(id))")
    if json { return try RelayOptions.print(answer) }
    print(try RelayOptions.read(PushStory.self, from: answer).text)
  }
}

struct RetryPushes: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "retry", abstract: "Send dead letters again.",
    discussion: """
      The relay decides each push again: if the user has read the message since, it sends nothing. The relay rejects a \
      push that has expired, or whose device no longer exists. A second retry of the same push is harmless. The exit \
      code is 0 if the relay rejected none.

      With --all, the relay retries all dead letters that exist when the command begins, newest first. Each request \
      has at most 100 of them.
      """)

  @OptionGroup var relay: RelayOptions

  @Argument(help: "Ids of the pushes.")
  var ids: [String] = []

  @Flag(help: "Retry all dead letters.")
  var all = false

  @Option(help: "With --all: only pushes to this user.")
  var user: String?

  @Option(help: "With --all: only dead letters with this note, such as DeviceTokenNotForTopic.")
  var note: String?

  @Flag(help: "Print the relay's JSON, one line for each push. With --all, one line for each request.")
  var json = false

  func validate() throws {
    guard ids.isEmpty == all else { throw ValidationError("give the ids of pushes, or --all") }
    guard all || (user == nil && note == nil) else { throw ValidationError("--user and --note need --all") }
  }

  func run() async throws {
    if all { return try await retryAll() }
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

  private func retryAll() async throws {
    var (retried, rejected) = (0, 0)
    var (after, hasMore): (String?, Bool) = (nil, true)
    while hasMore {
      let request = RetryRequest(user: user, note: note, after: after)
      let answer = try await relay.send("POST", "/v1/pushes/retry", body: Array(JSONEncoder().encode(request)))
      let next = try RelayOptions.read(RetryPage.self, from: answer)
      if json { try RelayOptions.print(answer) }
      for push in next.pushes {
        if push.retried { retried += 1 } else { rejected += 1 }
        if !json { print("\(push.id): \(push.reason ?? "retried")") }
      }
      // A page may be empty, because its pushes were deleted meanwhile.
      (after, hasMore) = (next.pushes.last?.id ?? after, next.more)
    }
    if !json { print("\(retried) retried, \(rejected) rejected") }
    guard rejected == 0 else { throw ExitCode.failure }
  }
}

/// The body of a request that retries a page of dead letters.
private struct RetryRequest: Encodable {
  var user: String?
  var note: String?
  /// The last push of the page before.
  var after: String?
}

private struct RetryPage: Decodable {
  var pushes: [Push]
  var more: Bool

  struct Push: Decodable {
    var id: String
    var retried: Bool
    var reason: String?
  }
}
