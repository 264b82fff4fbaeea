// SPDX-License-Identifier: Apache-2.0
import RelayJSON
public import RelayProtocol

/// The notifications that a phone removes: those up to a read mark, and single ones.
public struct Removals: Equatable, Sendable {
  private struct Entry: Equatable {
    let message: MessageReference
    let isRead: Bool
  }

  /// The most urgent entry first.
  private var entries: [Entry] = []

  /// The recipient has read each room up to `seq`. The phone removes the notifications of these messages.
  public var read: [MessageReference] { entries.filter(\.isRead).map(\.message) }
  /// The messages whose notifications the phone removes, see ``PhonePush/identity``.
  public var removed: [MessageReference] { entries.filter { !$0.isRead }.map(\.message) }

  /// The maximum number of entries of both lists together.
  public static let maxCount = NotificationRemoval.maxEntries
  /// The maximum size of both lists in the payload of an alert, in bytes. Further entries follow with the next push, so
  /// that they take no space from the text.
  public static let maxSizeInAlert = 640

  public init() {}

  public var isEmpty: Bool { entries.isEmpty }
  public var count: Int { entries.count }

  /// Adds an entry after the others. No effect if there are too many.
  /// - Parameter isRead: True for a read mark.
  public mutating func add(_ message: MessageReference, isRead: Bool) {
    guard count < Self.maxCount else { return }
    entries.append(Entry(message: message, isRead: isRead))
  }

  /// True if the phone removes the notification of this message.
  public func covers(_ message: MessageReference) -> Bool {
    NotificationRemoval.removes(message, contents: [message], read: read, removed: removed)
  }

  /// The most urgent entries that need at most `size` bytes in a payload.
  public func fitting(_ size: Int) -> Removals {
    var part = Removals()
    var left = size - Self.emptySize
    for entry in entries {
      left -= JSONWriter.object { entry.message.write(to: &$0) }.count + 1
      guard left >= 0 else { break }
      part.entries.append(entry)
    }
    return part
  }

  /// The size of both lists without entries: `,"read":[],"removed":[]`.
  private static let emptySize = 23

  /// Writes the members `read` and `removed`, beside `aps`. Writes no empty list.
  func write(to payload: inout JSONWriter.Object) {
    for (name, list) in [("read", read), ("removed", removed)] where !list.isEmpty {
      payload.array(name) { array in
        for message in list { array.object { message.write(to: &$0) } }
      }
    }
  }
}

extension MessageReference {
  /// Writes the members `room` and `seq`.
  func write(to object: inout JSONWriter.Object) {
    object["room"] = room.rawValue
    object.integer("seq", seq)
  }
}
