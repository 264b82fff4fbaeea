// SPDX-License-Identifier: Apache-2.0

/// A queue that removes its first element in constant time.
package struct Line<Element> {
  private var stored: [Element] = []
  /// The index of the first element. The elements before it were removed.
  private var head = 0

  package init() {}
  package init(_ elements: [Element]) { stored = elements }

  package var isEmpty: Bool { head == stored.count }
  package var count: Int { stored.count - head }
  package var first: Element? { isEmpty ? nil : stored[head] }
  package var last: Element? { isEmpty ? nil : stored.last }
  package var elements: ArraySlice<Element> { stored[head...] }

  package mutating func append(_ element: Element) { stored.append(element) }

  /// Removes and returns the first element, or `nil` if the queue is empty.
  @discardableResult
  package mutating func removeFirst() -> Element? {
    guard let first else { return nil }
    head += 1
    if head == stored.count || head > 1_024 && head > stored.count / 2 {
      stored.removeFirst(head)
      head = 0
    }
    return first
  }
}
