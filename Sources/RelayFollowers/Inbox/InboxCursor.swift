// SPDX-License-Identifier: Apache-2.0
package import RelayStore

/// The place at which the next page of a user's list of rooms begins. Clients treat the text as opaque.
///
/// The list is sorted by the newest activity, and rooms move while a client reads it. So it has two parts. The first
/// part goes from the newest activity to the oldest. A room that moves meanwhile moves above the list's `top`. The
/// second part has the rooms that have changed after `top`, from the oldest change to the newest: a room that moves
/// again stays ahead of the client. So each room is in at least one page, and its last entry is its newest state.
package enum InboxCursor: Equatable, Sendable {
  /// The activity before `number`. `top` is the newest change when the list began.
  case activity(before: Int64, top: InboxPosition)
  /// The changes after this position.
  case changes(after: InboxPosition)

  /// The maximum length of a cursor, in bytes.
  package static let maxLength = 128

  package var text: String {
    switch self {
    case .activity(let number, let top): "\(top.text).\(number)"
    case .changes(let position): position.text
    }
  }

  /// Returns `nil` for a text that is no cursor.
  package init?(_ text: String) {
    let parts = text.split(separator: ".", maxSplits: 3, omittingEmptySubsequences: false)
    guard parts.count == 2 || parts.count == 3, let top = InboxPosition("\(parts[0]).\(parts[1])") else { return nil }
    guard parts.count == 3 else {
      self = .changes(after: top)
      return
    }
    guard let number = Int64(wire: parts[2]) else { return nil }
    self = .activity(before: number, top: top)
  }

  /// The cursor after a page of the first part. Is `nil` if the page is the last one.
  /// - Parameters:
  ///   - last: The last room of the page. Is `nil` for an empty page.
  ///   - newest: The newest change of all lists when the page was read.
  package static func next(more: Bool, last: Int64?, top: InboxPosition, newest: InboxPosition) -> InboxCursor? {
    if more, let last { return .activity(before: last, top: top) }
    return newest == top ? nil : .changes(after: top)
  }
}

extension InboxPosition {
  package var text: String { "\(epoch).\(number)" }

  /// Returns `nil` for a text that is no position.
  package init?(_ text: String) {
    let parts = text.split(separator: ".", maxSplits: 2, omittingEmptySubsequences: false)
    guard parts.count == 2, (1...Self.maxEpochLength).contains(parts[0].utf8.count), let number = Int64(wire: parts[1])
    else { return nil }
    self.init(epoch: String(parts[0]), number: number)
  }

  private static let maxEpochLength = 32
}

extension Int64 {
  /// A number of only digits. Returns `nil` for other texts.
  fileprivate init?(wire text: Substring) {
    guard text.utf8.allSatisfy({ (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) }), let number = Int64(text)
    else { return nil }
    self = number
  }
}
