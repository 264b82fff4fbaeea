// SPDX-License-Identifier: Apache-2.0
import RelayStore

/// Decides when a relay ends whose data folder, or whose database in it, was removed or replaced. Pure.
///
/// The relay writes nothing to such files, and cannot continue without them. An operator who has moved the folder by
/// mistake has a few seconds to move it back. A node of a cluster begins again instead, and loads a snapshot.
struct LostFiles {
  /// The time for which the files may be lost.
  static let patience = Duration.seconds(4)
  /// The time that a relay whose files are lost has to close its sessions. Together with the patience and the pauses
  /// between two checks, it ends within 10 s.
  static let farewell = Duration.seconds(1)

  enum Event { case begins, returns, ends }

  private var since: ContinuousClock.Instant?

  /// - Parameter areLost: True if a file is not in its place.
  /// - Returns: The change since the last observation.
  mutating func observe(areLost: Bool, at now: ContinuousClock.Instant) -> Event? {
    guard areLost else {
      defer { since = nil }
      return since == nil ? nil : .returns
    }
    guard let since else {
      self.since = now
      return .begins
    }
    return now - since >= Self.patience ? .ends : nil
  }
}

/// Checks the data folder of a node that does not lead. A snapshot may replace the database in it, so that only the
/// folder must stay the same.
struct FolderCheck {
  private let folder: String
  private var identity: FileIdentity?
  private var hasDatabase = false

  init(_ folder: String) { self.folder = folder }

  /// Returns the reason if the folder, or the database in it, is lost. A node makes both after its start, so that they
  /// need not exist at the first checks.
  mutating func check() -> String? {
    let found = FileIdentity(path: folder)
    guard let identity else {
      self.identity = found
      return nil
    }
    guard found == identity else { return StoreError.lostFile(folder) }
    let database = folder + "/stillwire.db"
    let exists = FileIdentity(path: database) != nil
    if hasDatabase, !exists { return StoreError.lostFile(database) }
    hasDatabase = exists
    return nil
  }
}
