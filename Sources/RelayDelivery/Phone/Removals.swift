// SPDX-License-Identifier: Apache-2.0
import RelayJSON
public import RelayProtocol

/// The notifications that a phone removes: those up to a read mark, and single ones.
public struct Removals: Equatable, Sendable {
  /// The recipient has read each room up to `seq`. The phone removes the notifications of these messages.
  public private(set) var read: [MessageReference] = []
  /// The messages whose notifications the phone removes.
  public private(set) var removed: [MessageReference] = []

  /// The maximum number of entries of both lists together.
  public static let maxCount = NotificationRemoval.maxEntries
  /// The maximum size of both lists in the payload of an alert, in bytes. Further entries follow with the next push, so
  /// that they take no space from the text.
  public static let maxSizeInAlert = 640

  public init() {}

  public var isEmpty: Bool { read.isEmpty && removed.isEmpty }
  public var count: Int { read.count + removed.count }

  /// Adds an entry. No effect if the lists are full.
  /// - Parameter isRead: True for a read mark.
  public mutating func add(_ message: MessageReference, isRead: Bool) {
    guard count < Self.maxCount else { return }
    if isRead { read.append(message) } else { removed.append(message) }
  }

  /// True if the phone removes the notification of this message.
  public func covers(_ message: MessageReference) -> Bool {
    NotificationRemoval.removes(message, contents: [message], read: read, removed: removed)
  }

  /// The beginning of the lists that needs at most `size` bytes.
  public func fitting(_ size: Int) -> Removals {
    var part = Removals()
    var left = size
    func take(_ message: MessageReference, into list: WritableKeyPath<Removals, [MessageReference]>) {
      var json = JSONWriter()
      json.object { Self.write(message, to: &$0) }
      left -= json.bytes.count + 1
      if left >= 0 { part[keyPath: list].append(message) }
    }
    for message in removed { take(message, into: \.removed) }
    for message in read { take(message, into: \.read) }
    return part
  }

  /// Writes the members `read` and `removed`, beside `aps`. Writes no empty list.
  func write(to payload: inout JSONWriter.Object) {
    for (name, list) in [("read", read), ("removed", removed)] where !list.isEmpty {
      payload.array(name) { array in
        for message in list { array.object { Self.write(message, to: &$0) } }
      }
    }
  }

  private static func write(_ message: MessageReference, to object: inout JSONWriter.Object) {
    object["room"] = message.room.rawValue
    object.integer("seq", message.seq)
  }
}
