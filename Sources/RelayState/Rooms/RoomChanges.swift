// SPDX-License-Identifier: Apache-2.0
import RelayJSON
package import RelayProtocol
package import RelayStore

/// The changes of a room's messages that the hub has published: the newest numbers, and the changes while a read of the
/// history is in progress. The read may return older states, so the reader applies these changes to its result.
package struct RoomChanges {
  /// The newest seq of the room at the last change. Is 0 if no message in the history was ever changed.
  package private(set) var newest: Int64
  /// The number of the newest change that the hub has published.
  package private(set) var change: Int64
  private var reads = 0
  /// The newest changes, if a read is in progress.
  private var recent: [ChangedMessage] = []
  private var bytes = 0
  /// The number of changes that are not in `recent` any more.
  private var forgotten = 0

  /// The maximum number of changes during a read. A read with more changes is repeated.
  static let maxRecent = 300
  /// The maximum size of the states of these changes, in bytes.
  package static let maxBytes = 128 << 10

  package init(newest: Int64 = 0, change: Int64 = 0) {
    self.newest = newest
    self.change = change
  }

  /// True if no message was ever changed and no read is in progress.
  package var isEmpty: Bool { change == 0 && reads == 0 }

  /// Counts a change.
  /// - Parameter newest: The newest seq of the room when the change was stored.
  package mutating func append(_ changed: ChangedMessage, newest: Int64) {
    self.newest = newest
    change = changed.change
    guard reads > 0 else { return }
    recent.append(changed)
    bytes += changed.size
    while recent.count > Self.maxRecent || bytes > Self.maxBytes {
      bytes -= recent.removeFirst().size
      forgotten += 1
    }
  }

  // MARK: Reads

  /// The beginning of a read, for ``changes(since:)``.
  package struct Mark {
    fileprivate var position: Int
  }

  mutating func beginRead() -> Mark {
    reads += 1
    return Mark(position: forgotten + recent.count)
  }

  mutating func endRead() {
    // If the room was unloaded during the read, the number is 0.
    reads = max(0, reads - 1)
    guard reads == 0 else { return }
    forgotten += recent.count
    recent = []
    bytes = 0
  }

  /// The changes since the beginning of a read in progress, in their order. Is `nil` if there were too many.
  package func changes(since mark: Mark) -> ArraySlice<ChangedMessage>? {
    let index = mark.position - forgotten
    return recent.indices.contains(index) || index == recent.count ? recent[index...] : nil
  }

  // MARK: Results of a read

  /// Adds the changes during a read to those that it has returned. Each number appears once, in ascending order.
  package static func merged(_ read: [ChangedMessage], _ during: [ChangedMessage]) -> [ChangedMessage] {
    guard !during.isEmpty else { return read }
    let byNumber = Dictionary((read + during).map { ($0.change, $0) }, uniquingKeysWith: { _, newer in newer })
    return byNumber.values.sorted { $0.change < $1.change }
  }

  /// Applies the changes during a read to the messages that it has returned, and to their quotes.
  package static func apply(
    _ during: ArraySlice<ChangedMessage>, _ quoting: QuotedParts, to messages: [StoredMessage]
  ) -> [StoredMessage] {
    guard !during.isEmpty else { return messages }
    let bySeq = Dictionary(grouping: during, by: \.seq)
    return messages.map { message in
      var message = message
      for changed in bySeq[message.seq] ?? [] { message.apply(changed) }
      if let quoted = message.quote?.seq {
        for changed in bySeq[quoted] ?? [] { message.quote?.apply(changed, quoting) }
      }
      return message
    }
  }
}

extension StoredMessage {
  /// Applies a change of this message.
  fileprivate mutating func apply(_ changed: ChangedMessage) {
    guard !isDeleted else { return }
    switch changed.annotation?.kind {
    case .reactions: reactions = changed.annotation?.value
    case .pinned:
      let time = changed.annotation?.value.flatMap { Int64(String(decoding: $0, as: UTF8.self)) }
      pinned = time.map { Timestamp(rawValue: $0) }
    case nil:
      guard let body = changed.body else {
        self = StoredMessage(
          seq: seq, from: from, time: time, body: [], isDeleted: true, moderator: changed.moderator)
        return
      }
      self.body = body
      edited = changed.time
    }
  }
}

extension Quote {
  /// Applies a change of the quoted message.
  fileprivate mutating func apply(_ changed: ChangedMessage, _ parts: QuotedParts) {
    guard changed.annotation == nil, !isDeleted else { return }
    isDeleted = changed.body == nil
    preview = parts == .preview ? changed.body.flatMap { JSON.preview(ofBody: $0) } : nil
  }
}
