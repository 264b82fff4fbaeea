// SPDX-License-Identifier: Apache-2.0
import NIOCore
import Synchronization

/// What is told to one reader and not taken yet, up to a bound.
///
/// One task reads. Its cancellation ends the sequence.
final class Mailbox<Element: Sendable>: Sendable {
  private struct State {
    var elements = CircularBuffer<Element>()
    var reader: CheckedContinuation<Element?, Never>?
    var isOver = false
  }

  private let limit: Int
  private let marked: @Sendable (inout CircularBuffer<Element>) -> Void
  private let state = Mutex(State())

  /// - Parameters:
  ///   - limit: How many are kept; beyond, the oldest are lost.
  ///   - marked: Says of what is left, the first element, that something before it was lost.
  init(limit: Int, marked: @escaping @Sendable (inout CircularBuffer<Element>) -> Void) {
    precondition(limit > 0, "a reader takes one at a time")
    self.limit = limit
    self.marked = marked
  }

  var isOver: Bool { state.withLock(\.isOver) }

  func put(_ element: Element) {
    let reader = state.withLock { state -> CheckedContinuation<Element?, Never>? in
      guard !state.isOver else { return nil }
      if let reader = state.reader {
        state.reader = nil
        return reader
      }
      state.elements.append(element)
      if state.elements.count > limit {
        state.elements.removeFirst()
        marked(&state.elements)
      }
      return nil
    }
    reader?.resume(returning: element)
  }

  /// What is not taken yet may still be.
  func end() {
    let reader = state.withLock { state in
      state.isOver = true
      defer { state.reader = nil }
      return state.reader
    }
    reader?.resume(returning: nil)
  }

  /// nil: it is over.
  func next() async -> Element? {
    await withTaskCancellationHandler {
      await withCheckedContinuation { continuation in
        let element: Element?? = state.withLock { state in
          if !state.elements.isEmpty { return .some(state.elements.removeFirst()) }
          if state.isOver || Task.isCancelled { return .some(nil) }
          precondition(state.reader == nil, "one task reads")
          state.reader = continuation
          return nil
        }
        if let element { continuation.resume(returning: element) }
      }
    } onCancel: {
      end()
    }
  }
}
