// SPDX-License-Identifier: Apache-2.0

/// The reason why a file did not take records.
public enum ReplicaError: Error, Hashable, Sendable {
  /// The rows of this body do not fit the file.
  case conflict(index: Int, reason: String)
  /// The file could not be read or written. The caller tries again later.
  case failed(reason: String)
  /// The file is damaged. Only a snapshot mends it.
  case damaged(reason: String)
  /// A newer version of the program has migrated the file, or the copy.
  case newerSchema(reason: String)
}

extension ReplicaError: CustomStringConvertible {
  public var description: String {
    switch self {
    case .conflict(_, let reason), .failed(let reason), .damaged(let reason), .newerSchema(let reason): reason
    }
  }
}

/// The file of a node that follows the log. Belongs to one thread.
public protocol ReplicaFile: AnyObject {
  /// Is `nil` if the file follows no log yet.
  var position: LogPosition? { get throws(ReplicaError) }
  /// True if the file has no users and no rooms.
  var isEmpty: Bool { get throws(ReplicaError) }
  /// True if the log of the file has had a snapshot. It may not be the newest one, or may have been deleted.
  var hasSnapshot: Bool { get throws(ReplicaError) }
  func noteSnapshot() throws(ReplicaError)
  /// The migrations that the file lacks and that this version knows, in their order.
  var missingMigrations: [String] { get throws(ReplicaError) }
  /// Applies the bodies and writes the position, in one transaction.
  func apply(_ bodies: [[UInt8]], position: LogPosition) throws(ReplicaError)
  func setPosition(_ position: LogPosition) throws(ReplicaError)
  func migrate(_ name: String, position: LogPosition) throws(ReplicaError)
  func close()
}

/// The folder of a node's file.
///
/// Threads: any. ``copy(to:)`` may run while a file is open.
public protocol ReplicaFolder: Sendable {
  /// The migrations that this version knows.
  var migrations: Set<String> { get }
  /// A path for a copy that the node makes.
  var outgoing: String { get }
  /// A path for a copy that the node loads.
  var incoming: String { get }
  func open() throws(ReplicaError) -> any ReplicaFile
  /// Returns the position of a file that cannot be opened because it is damaged. Is `nil` if it follows no log.
  func positionOfDamaged() throws(ReplicaError) -> LogPosition?
  /// Copies the file while it is in use. Returns the position in the copy.
  func copy(to path: String) throws(ReplicaError) -> LogPosition?
  /// Returns the position in a copy. Throws if the copy is not a database of this version.
  func position(ofCopy path: String) throws(ReplicaError) -> LogPosition?
  /// Gives the file, which must be closed, a second name that ``install()`` does not change. Replaces the file that had
  /// this name before.
  /// - Returns: The path of the kept file.
  func keep() throws(ReplicaError) -> String
  /// Replaces the file, which must be closed, by the copy at ``incoming``. Afterwards the file has either the old or
  /// the new content, also after a loss of power. The new file has a snapshot, see ``ReplicaFile/hasSnapshot``.
  func install() throws(ReplicaError)
}
