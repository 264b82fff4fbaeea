// SPDX-License-Identifier: Apache-2.0
package import RelayProtocol

/// The newest state of each user whose presence has changed, in the order of the changes. Pure.
///
/// Each change has a number. The log keeps only the last change of a user, so a reader that is behind gets the newest
/// state of each user once. The log has a capacity. A reader behind the ``horizon`` has missed changes.
package struct PresenceLog: Sendable {
  private struct Change {
    let number: Int64
    let user: UserID
    /// The presence entry, as JSON. Is empty if the user has changed again.
    var entry: [UInt8]

    var isOutdated: Bool { entry.isEmpty }
  }

  /// Identifies this log. The numbers of another log mean nothing here.
  package let epoch: String
  /// The maximum number of users.
  private let capacity: Int
  /// Sorted by number.
  private var changes: ArraySlice<Change> = []
  private var numbers: [UserID: Int64] = [:]
  /// The number of the last change.
  package private(set) var newest: Int64 = 0
  /// The log has all changes after this number.
  private(set) var horizon: Int64 = 0

  /// The number of changes in memory, including those of users who have changed again. For tests.
  package var count: Int { changes.count }

  package init(epoch: String, capacity: Int) {
    self.epoch = epoch
    self.capacity = capacity
  }

  /// Adds a change. Above the capacity, removes the oldest one.
  package mutating func note(_ entry: [UInt8], of user: UserID) {
    newest += 1
    if let former = numbers.updateValue(newest, forKey: user) {
      changes[index(after: former - 1)].entry = []
    }
    changes.append(Change(number: newest, user: user, entry: entry))
    while numbers.count > capacity, let oldest = changes.popFirst() {
      if oldest.isOutdated { continue }
      numbers[oldest.user] = nil
      horizon = oldest.number
    }
    // Copies the rest, at most once for each `capacity` changes.
    if changes.count > 2 * capacity + 64 { changes = ArraySlice(Array(changes.filter { !$0.isOutdated })) }
  }

  /// Forgets all changes. No earlier position is complete any more.
  package mutating func clear() {
    newest += 1
    horizon = newest
    changes = []
    numbers = [:]
  }

  /// A part of the changes after a number.
  package struct Page: Equatable, Sendable {
    package var entries: [(number: Int64, entry: [UInt8])] = []
    /// The number of the last change that the page covers.
    package var end: Int64

    package static func == (a: Page, b: Page) -> Bool {
      a.end == b.end && a.entries.map(\.number) == b.entries.map(\.number)
        && a.entries.map(\.entry) == b.entries.map(\.entry)
    }
  }

  /// Returns changes after a number, which is at least ``horizon``. Looks at no more than `maxChanges`, and ends the
  /// page when its entries have `maxBytes` or more.
  package func page(
    after number: Int64, maxChanges: Int, maxBytes: Int, where isIncluded: (UserID) -> Bool
  ) -> Page {
    var page = Page(end: number)
    var bytes = 0
    for change in changes[index(after: number)...].prefix(maxChanges) {
      page.end = change.number
      guard !change.isOutdated, isIncluded(change.user) else { continue }
      page.entries.append((change.number, change.entry))
      bytes += change.entry.count
      if bytes >= maxBytes { break }
    }
    return page
  }

  /// The index of the first change after a number.
  private func index(after number: Int64) -> Int {
    var (low, high) = (changes.startIndex, changes.endIndex)
    while low < high {
      let middle = low + (high - low) / 2
      if changes[middle].number > number { high = middle } else { low = middle + 1 }
    }
    return low
  }

  // MARK: Positions

  /// The reason why a reader must read the presence of its users again.
  package enum Reset: String, CaseIterable, Sendable {
    /// The reader has given no position.
    case new
    /// The position belongs to an earlier run of the relay, or to another node.
    case restarted
    /// The log no longer has all changes since the position.
    case expired
  }

  /// Returns the number of a position, or the reason for a reset.
  package func start(at position: String?) -> Result<Int64, Reset> {
    guard let position, !position.isEmpty else { return .failure(.new) }
    let parts = position.split(separator: ".", maxSplits: 1, omittingEmptySubsequences: false)
    guard parts.count == 2, parts[0] == epoch, let number = Int64(parts[1]), number <= newest else {
      return .failure(.restarted)
    }
    return number < horizon ? .failure(.expired) : .success(number)
  }

  /// The text of a position, which clients send in `Last-Event-ID`.
  package func position(_ number: Int64) -> String { "\(epoch).\(number)" }
}

extension PresenceLog.Reset: Error {}
