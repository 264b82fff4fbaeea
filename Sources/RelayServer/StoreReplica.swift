// SPDX-License-Identifier: Apache-2.0
import Foundation
import RelayCluster
import RelayProtocol
import RelayStore

/// The file of a node, as the drivers of RelayCluster use it.
final class StoreReplica: ReplicaFile {
  private let replica: Replica

  init(folder: String) throws(RelayCluster.ReplicaError) {
    do {
      replica = try Replica(folder: folder)
    } catch {
      throw Self.converted(error)
    }
  }

  var position: LogPosition? {
    get throws(RelayCluster.ReplicaError) { try LogPosition(stored: replica.position) }
  }

  var isEmpty: Bool {
    get throws(RelayCluster.ReplicaError) {
      try Self.attempt { () throws(StoreError) in try replica.isEmpty }
    }
  }

  var hasSnapshot: Bool {
    get throws(RelayCluster.ReplicaError) { try Self.attempt { () throws(StoreError) in try replica.hasSnapshot } }
  }

  func noteSnapshot() throws(RelayCluster.ReplicaError) {
    try Self.attempt { () throws(StoreError) in try replica.noteSnapshot() }
  }

  /// The time by the clock for idempotency keys, see ``Replica/keyTime(at:)``.
  var keyTime: Duration {
    get throws(RelayCluster.ReplicaError) {
      try Self.attempt { () throws(StoreError) in try replica.keyTime() - Timestamp(rawValue: 0) }
    }
  }

  var missingMigrations: [String] {
    let applied = Set(replica.migrations)
    return Replica.known.filter { !applied.contains($0) }
  }

  func apply(_ bodies: [[UInt8]], position: LogPosition) throws(RelayCluster.ReplicaError) {
    do {
      try replica.apply(bodies, position: position.text)
    } catch {
      switch error {
      case .conflict(let index, let reason): throw .conflict(index: index, reason: reason)
      case .failed(let error): throw Self.converted(error)
      }
    }
  }

  private static func converted(_ error: StoreError) -> RelayCluster.ReplicaError {
    switch error {
    case .damaged: .damaged(reason: "\(error)")
    case .newerSchema: .newerSchema(reason: "\(error)")
    default: .failed(reason: "\(error)")
    }
  }

  func setPosition(_ position: LogPosition) throws(RelayCluster.ReplicaError) {
    try Self.attempt { () throws(StoreError) in try replica.setPosition(position.text) }
  }

  /// Makes the file the beginning of a new log. See ``Replica/beginLog(at:now:)``.
  /// - Returns: True if all rooms begin new epochs.
  func beginLog(at position: LogPosition) throws(RelayCluster.ReplicaError) -> Bool {
    try Self.attempt { () throws(StoreError) in try replica.beginLog(at: position.text) } != nil
  }

  func migrate(_ name: String, position: LogPosition) throws(RelayCluster.ReplicaError) {
    try Self.attempt { () throws(StoreError) in try replica.migrate(name, position: position.text) }
  }

  func close() { replica.close() }

  /// See ``Replica/foreignTables``.
  var foreignTables: [String] { replica.foreignTables }

  fileprivate static func attempt<Value>(
    _ work: () throws(StoreError) -> Value
  ) throws(RelayCluster.ReplicaError) -> Value {
    do {
      return try work()
    } catch {
      throw converted(error)
    }
  }
}

/// The data folder of a node.
struct StoreReplicaFolder: ReplicaFolder {
  private let folder: String
  private let onOpen: @Sendable (StoreReplica) -> Void

  init(_ folder: String, onOpen: @escaping @Sendable (StoreReplica) -> Void = { _ in }) {
    self.folder = folder
    self.onOpen = onOpen
  }

  var migrations: Set<String> { Set(Replica.known) }
  // On the file system of the database, because an installation renames the file.
  var outgoing: String { folder + "/snapshot.outgoing" }
  var incoming: String { folder + "/snapshot.incoming" }

  func open() throws(RelayCluster.ReplicaError) -> any ReplicaFile {
    let file = try StoreReplica(folder: folder)
    onOpen(file)
    return file
  }

  func positionOfDamaged() throws(RelayCluster.ReplicaError) -> LogPosition? {
    try LogPosition(
      stored: StoreReplica.attempt { () throws(StoreError) in try Replica.position(ofDamaged: folder) })
  }

  func copy(to path: String) throws(RelayCluster.ReplicaError) -> LogPosition? {
    try LogPosition(
      stored: StoreReplica.attempt { () throws(StoreError) in try Replica.copy(folder: folder, to: path) })
  }

  func position(ofCopy path: String) throws(RelayCluster.ReplicaError) -> LogPosition? {
    try LogPosition(stored: StoreReplica.attempt { () throws(StoreError) in try Replica.position(ofCopy: path) })
  }

  func keep() throws(RelayCluster.ReplicaError) -> String {
    try StoreReplica.attempt { () throws(StoreError) in try Replica.keep(folder: folder) }
  }

  func install() throws(RelayCluster.ReplicaError) {
    try StoreReplica.attempt { () throws(StoreError) in try Replica.install(incoming, folder: folder) }
  }
}

extension LogPosition {
  /// Parses the position in a file. Throws if it is not valid.
  fileprivate init?(stored text: String?) throws(RelayCluster.ReplicaError) {
    guard let text else { return nil }
    guard let position = LogPosition(text: text) else {
      throw .failed(reason: "the position in the database is not valid: \(text)")
    }
    self = position
  }
}
