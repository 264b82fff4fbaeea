// SPDX-License-Identifier: Apache-2.0
import Foundation
import RelayStore
import Synchronization

/// Cuts off a relay as if its process were killed. After that, its actions have no visible effect, and its files are
/// copied in their present state. Any thread.
final class Fuse: Sendable {
  /// A point of the cut, counted from the moment at which the fuse is armed.
  enum Point: Hashable, Sendable {
    /// The commit of this number, before or after its completions run.
    case commit(Int, isDelivered: Bool)
    /// The push of this number, before or after the gateway has received it.
    case handing(Int, isTaken: Bool)
  }

  private struct State {
    var point: Point?
    var isBlown = false
    /// True if a thread makes the copies.
    var isCopied = false
    var isReleased = false
    var held: [Completion] = []
    var commits = 0
  }

  private let state = Mutex(State())
  private let folder: String
  private let image: String

  /// - Parameter image: The folder of the copies. It must not exist.
  init(folder: String, image: String) {
    self.folder = folder
    self.image = image
  }

  /// The number of committed groups.
  var commits: Int { state.withLock(\.commits) }

  var isBlown: Bool { state.withLock(\.isBlown) }

  func arm(_ point: Point) { state.withLock { $0.point = point } }

  /// Runs a function whose commits do not count.
  func spare(_ body: () throws -> Void) rethrows {
    let point = state.withLock { state in
      defer { state.point = nil }
      return state.point
    }
    defer { state.withLock { $0.point = point } }
    try body()
  }

  // MARK: Points of the cut

  /// Called for every committed group.
  func pass(_ completions: [Completion], deliver: ([Completion]) -> Void) {
    enum Outcome { case deliver, hold, blow(isDelivered: Bool) }
    let outcome = state.withLock { state -> Outcome in
      state.commits += 1
      if state.isReleased { return .deliver }
      if state.isBlown {
        state.held += completions
        return .hold
      }
      guard case .commit(let count, let isDelivered) = state.point else { return .deliver }
      state.point = count > 1 ? .commit(count - 1, isDelivered: isDelivered) : nil
      guard count <= 1 else { return .deliver }
      state.isBlown = true
      state.isCopied = true
      if !isDelivered { state.held = completions }
      return .blow(isDelivered: isDelivered)
    }
    switch outcome {
    case .deliver: deliver(completions)
    case .hold: break
    case .blow(let isDelivered):
      if isDelivered { deliver(completions) }
      copy()
    }
  }

  /// Returns true if the gateway receives the next push.
  func takesPush() -> Bool {
    state.withLock { state in
      guard !state.isBlown else { return false }
      guard case .handing(let count, let isTaken) = state.point else { return true }
      state.point = count > 1 ? .handing(count - 1, isTaken: isTaken) : nil
      guard count <= 1 else { return true }
      state.isBlown = true
      return isTaken
    }
  }

  // MARK: The end

  /// Blows the fuse now, unless it has blown. Nothing may write to the store meanwhile.
  func blow() {
    let isCopied = state.withLock { state in
      state.isBlown = true
      defer { state.isCopied = true }
      return state.isCopied
    }
    if !isCopied { copy() }
  }

  /// Lets the store continue, when its results are not visible any more.
  /// - Returns: The completions that were held back.
  func release() -> [Completion] {
    state.withLock { state in
      state.isReleased = true
      return state.held
    }
  }

  private func copy() {
    do {
      let files = FileManager.default
      try files.createDirectory(atPath: image, withIntermediateDirectories: true)
      // The run file is copied first, because it must not be newer than the database.
      for name in ["stillwire.run", "stillwire.db", "stillwire.db-wal"]
      where files.fileExists(atPath: "\(folder)/\(name)") {
        try files.copyItem(atPath: "\(folder)/\(name)", toPath: "\(image)/\(name)")
      }
    } catch {
      preconditionFailure("the files of a store cannot be copied: \(error)")
    }
  }
}
