// SPDX-License-Identifier: Apache-2.0
import RelayStore
import Testing

@testable import RelayFollowers

/// The places in a user's list of rooms.
@Suite struct InboxCursorTests {
  private static let top = InboxPosition(epoch: "0", number: 7)

  @Test(arguments: [
    (InboxCursor.activity(before: 5, top: top), "0.7.5"), (.changes(after: top), "0.7"),
    (.changes(after: InboxPosition(epoch: "9f", number: .max)), "9f.9223372036854775807"),
  ])
  func `a cursor has one text`(_ cursor: InboxCursor, _ text: String) {
    #expect(cursor.text == text)
    #expect(InboxCursor(text) == cursor)
  }

  @Test(arguments: [
    "", ".", "0", "0.", ".7", "0.x", "0.-7", "0.+7", "0.7.", "0.7.x", "0.7.5.3", "0.9223372036854775808", "0. 7",
    String(repeating: "e", count: 33) + ".7",
  ])
  func `other texts are no cursors`(_ text: String) { #expect(InboxCursor(text) == nil) }

  @Test(
    arguments: [
      // A further page of the first part follows.
      (true, Int64(5), Int64(7), InboxCursor.activity(before: 5, top: top)),
      (true, 5, 9, .activity(before: 5, top: top)),
      // The second part follows only after changes.
      (false, 5, 7, nil), (false, 5, 9, .changes(after: top)), (false, nil, 7, nil),
      (false, nil, 9, .changes(after: top)),
    ] as [(Bool, Int64?, Int64, InboxCursor?)])
  func `the second part follows the last page of the first part`(
    _ more: Bool, _ last: Int64?, _ newest: Int64, _ expected: InboxCursor?
  ) {
    let next = InboxCursor.next(
      more: more, last: last, top: Self.top, newest: InboxPosition(epoch: "0", number: newest))
    #expect(next == expected)
  }
}
