// SPDX-License-Identifier: Apache-2.0
import GRDB

/// The queries of a read, by subject. All of them see the same snapshot. Valid until the read returns.
///
/// The methods of its parts throw errors of SQLite, which ``Store`` converts to ``StoreError``.
public struct Reader {
  let db: Database

  public var rooms: RoomReader { RoomReader(db: db) }
  public var inbox: InboxReader { InboxReader(db: db) }
  public var messages: MessageReader { MessageReader(db: db) }
  public var people: PeopleReader { PeopleReader(db: db) }
  public var timeZones: TimeZoneReader { TimeZoneReader(db: db) }
  public var queue: QueueReader { QueueReader(db: db) }
  public var erasures: ErasureReader { ErasureReader(db: db) }
  public var export: ExportReader { ExportReader(db: db) }
  public var responses: ResponseReader { ResponseReader(db: db) }
  public var calls: CallReader { CallReader(db: db) }
  public var reports: MessageReportReader { MessageReportReader(db: db) }
  public var audit: AuditReader { AuditReader(db: db) }
  public var invitations: InvitationReader { InvitationReader(db: db) }
}
