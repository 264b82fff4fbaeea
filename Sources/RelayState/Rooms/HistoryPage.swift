// SPDX-License-Identifier: Apache-2.0
package import RelayHub
package import RelayProtocol
import RelayRequests

/// Consecutive messages in one frame of a reply to `join`.
package struct HistoryPage: Equatable, Sendable {
  package var text: MessagesText
  /// The seq of the newest message.
  package let newest: Int64

  package init(text: MessagesText, newest: Int64) {
    (self.text, self.newest) = (text, newest)
  }

  /// The maximum size of a page with several messages, in bytes. On a slow connection a larger frame would delay all
  /// others.
  package static let maxSize = 16 << 10
  /// The sizes that a client may request for all pages of a reply, in bytes.
  package static let requestable = Int64(maxSize)...256 << 10

  /// Splits messages into pages.
  /// - Parameter maxBytes: The maximum size of all pages, in bytes. The first page may exceed it with one message.
  /// - Returns: The pages with as many of the oldest messages as fit, and true if others are left.
  package static func split(_ messages: [StoredMessage], maxBytes: Int) -> (pages: [HistoryPage], more: Bool) {
    var pages: [HistoryPage] = []
    var bytes = 0
    for message in messages {
      let text = Replies.text(of: [message])
      bytes += text.text.count + 1
      guard bytes <= maxBytes || pages.isEmpty else { return (pages, true) }
      if let last = pages.last, last.text.text.count + text.text.count < maxSize {
        pages[pages.count - 1] = HistoryPage(text: last.text + text, newest: message.seq)
      } else {
        pages.append(HistoryPage(text: text, newest: message.seq))
      }
    }
    return (pages, false)
  }
}
