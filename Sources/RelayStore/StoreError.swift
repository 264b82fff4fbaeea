// SPDX-License-Identifier: Apache-2.0
import GRDB
public import RelayProtocol

/// An error of the store. It never contains a body or a token.
public enum StoreError: Error, Equatable, Sendable {
  /// The folder or the file cannot be used: no permission, no such path, or no database.
  case unusable(path: String, reason: String)
  /// A newer release has written the database.
  case newerSchema(path: String)
  /// Another process has the folder open.
  case inUse(path: String)
  /// The room does not exist.
  case noRoom(RoomID)
  /// A limit is exceeded.
  case tooMany(MembershipBounds.Limit)
  /// The user has answered the message in another way before.
  case answered
  /// The user has no such notification, or it has been deleted.
  case noNotification
  /// The user is not a member of the room any more.
  case notMember
  /// The user is being erased, and rows may still have the name.
  case beingErased
  /// A call rings in the room already.
  case ringing(MessageReference)
  /// The state of the call does not permit the request.
  case call(Call.Refusal)
  /// The rules of rooms and members forbid the change.
  case refused(RoomRefusal)
  /// The disk is full or failed. Nothing was changed, and a retry may succeed later.
  case unavailable(reason: String)
  /// The journal has ended the store. All further work fails. The journal may contain the change, so a client repeats
  /// its request with the same idempotency key.
  case ended(reason: String)
  /// The change has more bytes than a journal accepts.
  case tooLarge
  /// The database is damaged: SQLite cannot read a page, or the file is not a database. Only a backup or a repair helps.
  case damaged(path: String, reason: String)
  /// A row has invalid content.
  case invalidRow(reason: String)
  /// Only this work failed.
  case failed(reason: String)
  /// The store was closed.
  case closed

  /// The kind, safe as a metric label.
  public enum Code: String, Sendable, CaseIterable {
    case unusable
    case newerSchema = "newer_schema"
    case inUse = "in_use"
    case noRoom = "no_room"
    case tooMany = "too_many"
    case answered
    case noNotification = "no_notification"
    case notMember = "not_member"
    case beingErased = "being_erased"
    case ringing, call, refused
    case unavailable, ended
    case tooLarge = "too_large"
    case damaged
    case invalidRow = "invalid_row"
    case failed, closed
  }

  public var code: Code {
    switch self {
    case .unusable: .unusable
    case .newerSchema: .newerSchema
    case .inUse: .inUse
    case .noRoom: .noRoom
    case .tooMany: .tooMany
    case .answered: .answered
    case .noNotification: .noNotification
    case .notMember: .notMember
    case .beingErased: .beingErased
    case .ringing: .ringing
    case .call: .call
    case .refused: .refused
    case .unavailable: .unavailable
    case .ended: .ended
    case .tooLarge: .tooLarge
    case .damaged: .damaged
    case .invalidRow: .invalidRow
    case .failed: .failed
    case .closed: .closed
    }
  }
}

extension StoreError {
  /// True if the database is damaged. The log has one line about it, so the parts that notice it need none.
  public var isDamage: Bool { if case .damaged = self { true } else { false } }

  /// True if work fails in the same way until the relay starts again.
  public var isLasting: Bool {
    switch self {
    case .damaged, .invalidRow, .ended, .closed: true
    default: false
    }
  }
}

extension StoreError: CustomStringConvertible {
  /// One line for an operator.
  public var description: String {
    switch self {
    case .unusable(let path, let reason): "the data at \(path) cannot be used: \(reason)"
    case .newerSchema(let path): "\(path) was written by a newer release of stillwire; start that one"
    case .inUse(let path): "another stillwire has \(path) open"
    case .noRoom(let room): "there is no room \(room)"
    case .tooMany(let limit): "the limit \(limit.rawValue) is exceeded"
    case .answered: "the message was answered in another way"
    case .noNotification: "the notification does not exist, or has been deleted"
    case .notMember: "the user is not a member of the room any more"
    case .beingErased: "the user is being erased"
    case .ringing(let message): "a call rings in the room \(message.room)"
    case .call(let refusal): "the state of the call forbids the change: \(refusal)"
    case .refused(let refusal): "the rules of the room forbid the change: \(refusal)"
    case .unavailable(let reason): "the database cannot be written: \(reason)"
    case .ended(let reason): "the store has ended: \(reason)"
    case .tooLarge: "the change has more bytes than the journal accepts"
    case .damaged(let path, let reason):
      "the database \(path) is damaged (\(reason)): restore a backup or repair the file, see \"If the database is damaged\""
        + " on the page \"Backup and restore\""
    case .invalidRow(let reason): "a row of the database is invalid: \(reason)"
    case .failed(let reason): "the database refused a change: \(reason)"
    case .closed: "the store is closed"
    }
  }
}

extension StoreError {
  /// Converts an error that a work item or a read threw.
  /// - Parameter path: The path of the database.
  init(_ error: any Error, at path: String) {
    self =
      switch error {
      case let error as StoreError: error
      case let error as DatabaseError: Self.damage(error, at: path) ?? Self.named(error)
      default: .failed(reason: String(describing: type(of: error)))
      }
  }

  /// Runs `body`. Converts an error to ``damaged(path:reason:)`` or ``unusable(path:reason:)``, unless it is an error of
  /// the store.
  static func opening<Value>(_ path: String, _ body: () throws -> Value) throws(StoreError) -> Value {
    do {
      return try body()
    } catch let error as StoreError {
      throw error
    } catch {
      throw damage(error, at: path) ?? .unusable(path: path, reason: Disk.reason(at: path, error))
    }
  }

  /// The reason for an error about a file that is not in its place any more.
  package static func lostFile(_ path: String) -> String { "\(path) was removed or replaced while the relay runs" }

  /// True for the result codes with which SQLite reports a damaged database.
  static func isDamage(_ code: ResultCode) -> Bool {
    [.SQLITE_CORRUPT, .SQLITE_NOTADB].contains(code.primaryResultCode)
  }

  /// Returns ``damaged(path:reason:)`` if SQLite has found a damage, and `nil` for all other errors.
  static func damage(_ error: any Error, at path: String) -> StoreError? {
    guard let error = error as? DatabaseError, isDamage(error.resultCode) else { return nil }
    return .damaged(path: path, reason: words(error))
  }

  /// Converts the error of a whole transaction.
  /// - Parameter path: The path of the database.
  init(ofCommit error: any Error, at path: String) {
    self = error as? StoreError ?? Self.damage(error, at: path) ?? .unavailable(reason: Self.words(error))
  }

  /// The message of SQLite or of `CRows`. It names tables, columns and keys, never other values.
  static func words(_ error: any Error) -> String {
    switch error {
    case let error as DatabaseError: error.message ?? "SQLite error \(error.extendedResultCode.rawValue)"
    case let error as RowCapture.Failure: error.reason
    case let error as RowApplier.Failure: error.reason
    default: String(describing: type(of: error))
    }
  }

  private static func named(_ error: DatabaseError) -> StoreError {
    switch error.resultCode {
    case .SQLITE_FULL, .SQLITE_IOERR, .SQLITE_BUSY, .SQLITE_LOCKED, .SQLITE_NOMEM, .SQLITE_READONLY,
      .SQLITE_CANTOPEN, .SQLITE_ABORT, .SQLITE_INTERRUPT:
      .unavailable(reason: words(error))
    case .SQLITE_MISUSE where error.message == "Connection is closed": .closed
    default: .failed(reason: words(error))
    }
  }
}
