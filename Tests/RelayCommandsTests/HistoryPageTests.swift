// SPDX-License-Identifier: Apache-2.0
import RelayHub
import RelayProtocol
import RelayStore
import Testing

@testable import RelayRequests
@testable import RelayState

@Suite struct HistoryPageTests {
  /// A message whose text in a reply has this size.
  private static func message(_ seq: Int64, size: Int) -> StoredMessage {
    func made(_ count: Int) -> StoredMessage {
      let body = [UInt8](ascii: "\"") + [UInt8](repeating: UInt8(ascii: "x"), count: count) + [UInt8](ascii: "\"")
      return StoredMessage(seq: seq, from: UserID(unchecked: "ann"), time: Timestamp(rawValue: 1), body: body)
    }
    return made(size - Replies.text(of: [made(0)]).text.count)
  }

  private static let full = HistoryPage.maxSize

  @Test(arguments: [
    ([], full, [], false),
    ([100], full, [1], false),
    // A comma is between two messages.
    ([full - 101, 100], 2 * full, [2], false),
    ([full - 100, 100], 2 * full, [1, 2], false),
    // A message that is larger than a page has one of its own.
    ([100, 3 * full, 100], 9 * full, [1, 2, 3], false),
    ([3 * full, 100], full, [1], true),
    // The maximum of all pages.
    ([100, full], full, [1], true),
    ([100, full - 102], full, [2], false),
    ([100, full - 101], full, [1], true),
  ])
  func `messages are split into pages`(_ sizes: [Int], _ maxBytes: Int, _ newest: [Int64], _ more: Bool) {
    let messages = sizes.enumerated().map { Self.message(Int64($0.offset) + 1, size: $0.element) }
    let split = HistoryPage.split(messages, maxBytes: maxBytes)
    #expect(split.pages.map(\.newest) == newest)
    #expect(split.more == more)
    let count = Int(newest.last ?? 0)
    #expect(split.pages.reduce(0) { $0 + $1.text.count } == count)
    for page in split.pages where page.text.count > 1 { #expect(page.text.text.count <= Self.full) }
  }
}

extension [UInt8] {
  fileprivate init(ascii text: StaticString) {
    self = text.withUTF8Buffer { Array($0) }
  }
}
