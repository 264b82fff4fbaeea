// SPDX-License-Identifier: Apache-2.0
import NIOCore
import StillwireExtension

/// A bounded buffer of elements for one reader.
///
/// Only one task may read. Its cancellation ends the sequence.
final class Mailbox<Element: Sendable>: Sendable {
  private struct State {
    var elements = CircularBuffer<Element>()
    var reader: CheckedContinuation<Element?, Never>?
    var isOver = false
  }

  private let limit: Int
  private let marked: @Sendable (inout CircularBuffer<Element>) -> Void
  private let state = Locked(State())

  /// - Parameters:
  ///   - limit: Maximum number of elements. The oldest are lost beyond it.
  ///   - marked: Called after a loss with the remaining elements, to mark the loss in the first one.
  init(limit: Int, marked: @escaping @Sendable (inout CircularBuffer<Element>) -> Void) {
    precondition(limit > 0, "the limit must be at least 1")
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

  /// Ends the sequence. The reader can still take the elements that are in the buffer.
  func end() {
    let reader = state.withLock { state in
      state.isOver = true
      defer { state.reader = nil }
      return state.reader
    }
    reader?.resume(returning: nil)
  }

  /// Returns the next element. Returns `nil` after the end.
  func next() async -> Element? {
    await withTaskCancellationHandler {
      await withCheckedContinuation { continuation in
        let element: Element?? = state.withLock { state in
          if !state.elements.isEmpty { return .some(state.elements.removeFirst()) }
          if state.isOver || Task.isCancelled { return .some(nil) }
          precondition(state.reader == nil, "only one task may read")
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
