// SPDX-License-Identifier: Apache-2.0
import ArgumentParser

/// The options of commands that print a list of a running relay: the relay, the page and the format.
struct ListOptions: ParsableArguments {
  @OptionGroup var relay: RelayOptions

  @Option(help: ArgumentHelp("Maximum number of entries of a page, 1 to 100.", valueName: "n"))
  var limit = 100

  @Option(help: ArgumentHelp("Only entries behind this one, which is the last entry of a page.", valueName: "entry"))
  var after: String?

  @Flag(help: "Print all pages.")
  var all = false

  @Flag(help: "Print the relay's JSON, one line for each page.")
  var json = false

  /// Prints a page, or all pages from this one on.
  func print<Entry: ListEntry>(_ list: String, _ query: [(name: String, value: String?)], of _: Entry.Type) async throws
  {
    var entries: [Entry] = []
    var next = after
    repeat {
      let answer = try await relay.list("/v1/\(list)", query + [("limit", String(limit)), ("after", next)])
      let page = try RelayOptions.read(ListPage<Entry>.self, from: answer)
      if json { try RelayOptions.print(answer) } else { entries += page.entries }
      next = page.more ? page.entries.last?.id : nil
    } while all && next != nil
    guard !json else { return }
    Swift.print(TextTable(Entry.columns, entries.map(\.cells)).text, terminator: "")
    if let next { Swift.print("More: --after \(next)") }
  }
}

/// An entry of a list, with only the members that the commands print.
protocol ListEntry: Decodable {
  /// The member of an answer that has the entries.
  static var list: String { get }
  static var columns: [String] { get }
  var cells: [String] { get }
  /// The value of `after` behind this entry.
  var id: String { get }
}

/// A page of a list, as the relay answers it.
private struct ListPage<Entry: ListEntry>: Decodable {
  let entries: [Entry]
  let more: Bool

  init(from decoder: any Decoder) throws {
    let members = try decoder.container(keyedBy: Key.self)
    entries = try members.decode([Entry].self, forKey: Key(stringValue: Entry.list))
    more = try members.decode(Bool.self, forKey: Key(stringValue: "more"))
  }

  private struct Key: CodingKey {
    let stringValue: String
    var intValue: Int? { nil }

    init(stringValue: String) { self.stringValue = stringValue }
    init?(intValue: Int) { nil }
  }
}
