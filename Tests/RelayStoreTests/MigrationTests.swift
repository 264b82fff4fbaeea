// SPDX-License-Identifier: Apache-2.0
import Foundation
import GRDB
import RelayProtocol
import Testing

@testable import RelayStore

@Suite final class MigrationTests {
  private let folder = temporaryPath()
  deinit { try? FileManager.default.removeItem(atPath: folder) }

  /// A database as the release before had it, with a row of everything and a job of each state.
  private func writeThree() throws {
    try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
    let pool = try DatabasePool(path: folder + "/stillwire.db")
    try Schema.migrator.migrate(pool, upTo: "3")
    try pool.write { db in
      try db.execute(
        sql: """
          INSERT INTO users VALUES (1, 'alice', 'Alice', 'https://a', 5), (2, 'bob', NULL, NULL, NULL);
          INSERT INTO focus VALUES
            (2, 'phone', NULL, 'denied', 1, 7, 'intent', 2), (2, 'tablet', 0, 'authorized', 1, NULL, NULL, 2);
          INSERT INTO devices VALUES (2, 'phone', 'org.example', 'apns', 'token', 3), (2, 'tablet', NULL, 'simulator', 't', 4);
          INSERT INTO rooms VALUES (1, 'room', 'epoch', 7, 6, 2);
          INSERT INTO members VALUES (1, 1, 7, 0), (1, 2, 0, 1);
          INSERT INTO keys VALUES (1, 1, 'key', 2, 1, 9);
          """)
      let states = ["waiting", "ready", "sending", "retrying", "sent", "cancelled", "dead"]
      for (index, state) in states.enumerated() {
        let isFinished = index > 3
        try db.execute(
          sql: "INSERT INTO messages VALUES (1, ?, 1, 1, CAST('\"hi\"' AS BLOB))", arguments: [index + 1])
        try db.execute(
          sql: "INSERT INTO jobs VALUES (?, 1, ?, 2, 'phone', 'apns', 'token', ?, ?, ?, ?, 1, 0, ?, ?, 'note')",
          arguments: [
            state, index + 1, state, index == 0, index, state == "sending" ? 9 : nil, #"["away"]"#,
            isFinished ? 8 : nil,
          ])
      }
    }
    try pool.close()
  }

  @Test func `a database of the release before keeps all that it had`() async throws {
    try writeThree()
    let store = try Store(folder: folder, now: { .at(0) }) { for completion in $0 { completion() } }
    defer { store.close() }
    let room = try #require(try await store.read { try $0.room(RoomID(unchecked: "room")) })
    #expect(room.state == RoomState(room: RoomID(unchecked: "room"), epoch: "epoch", seq: 7, cursor: 6))
    let time = Timestamp.init(rawValue:)
    #expect(
      room.members.sorted { $0.user.id < $1.user.id } == [
        MemberRecord(
          user: User(id: alice.id, name: "Alice", avatar: "https://a"), lastSeen: time(5), read: 7, received: 0,
          focus: [], devices: []),
        MemberRecord(
          user: User(id: bob.id), lastSeen: nil, read: 0, received: 1,
          focus: [
            FocusRecord(
              device: DeviceID(unchecked: "phone"), isFocused: nil, authorization: .denied, at: time(1), number: 7,
              source: .intent, heard: time(2)),
            FocusRecord(
              device: DeviceID(unchecked: "tablet"), isFocused: false, authorization: .authorized, at: time(1),
              number: nil, source: nil, heard: time(2)),
          ],
          devices: [
            Device(id: DeviceID(unchecked: "phone"), app: "org.example", platform: .apns, token: "token"),
            Device(id: DeviceID(unchecked: "tablet"), platform: .simulator, token: "t"),
          ]),
      ])
    let page = try await store.read { try $0.messages(room.state.room, after: 0, limit: 9) }
    #expect(page?.first == 2)
    #expect(
      page?.messages
        == (2...7).map { StoredMessage(seq: $0, from: alice.id, time: time(1), body: Array("\"hi\"".utf8)) })
    #expect(try await store.read { try $0.unread(of: bob.id, now: .at(0)) }.total == Unread(messages: 6))
  }

  @Test func `jobs of the release before are told and sent as they were`() async throws {
    try writeThree()
    let store = try Store(folder: folder, now: { .at(0) }) { for completion in $0 { completion() } }
    defer { store.close() }
    let jobs = try await store.read { try $0.jobs(limit: 99).reversed() }
    #expect(jobs.map(\.state) == [.ready, .ready, .sending, .retrying, .sent, .cancelled, .dead])
    #expect(jobs.map(\.seq) == Array(1...7))
    #expect(jobs.allSatisfy { $0.reasons == ["away"] && $0.explanation == nil && $0.level == nil && $0.round == 0 })
    #expect(jobs.map { $0.finishedAt == nil } == [true, true, true, true, false, false, false])
    let ids = try await store.write { transaction in
      try transaction.releaseLeases()
      let phone = Device(id: DeviceID(unchecked: "phone"), app: "org.example", platform: .apns, token: "token")
      #expect(try transaction.reader.lanes() == [Lane(of: phone)])
      var ids: [String] = []
      while let claim = try transaction.claim(limit: 1, now: .at(0), leaseUntil: .at(1)).first {
        try transaction.finish(claim.id, state: .sent, now: .at(0))
        ids.append(claim.id)
      }
      return ids
    }
    #expect(ids == ["waiting", "ready", "sending", "retrying"])
    let sentAgain = try await store.write { transaction in
      let phone = DeviceID(unchecked: "phone")
      let draft = JobDraft(user: bob.id, device: phone, token: "token", platform: .apns, due: .at(0))
      return try transaction.insert([draft], room: RoomID(unchecked: "room"), seq: 5)
    }
    #expect(sentAgain == [])
  }

  @Test func `jobs and updates of an older database get the lanes of their devices`() throws {
    try writeThree()
    let pool = try DatabasePool(path: folder + "/stillwire.db")
    try Schema.migrator.migrate(pool, upTo: "named blocks")
    try pool.write { db in
      try db.execute(
        sql: """
          UPDATE devices SET environment = 'production' WHERE device = 'phone';
          UPDATE jobs SET lane = 'apns/org.example';
          INSERT INTO updates (id, user, device, kind, room, seq, due, lane)
          VALUES ('badge', 2, 'phone', 'badge', 0, 0, 0, 'apns/org.example');
          """)
    }
    try pool.close()
    try Store(folder: folder) { for completion in $0 { completion() } }.close()
    let lanes = try DatabaseQueue(path: folder + "/stillwire.db").read { db in
      try String.fetchAll(
        db, sql: "SELECT lane FROM jobs WHERE finished_at IS NULL UNION ALL SELECT lane FROM updates")
    }
    #expect(lanes.count == 5)
    #expect(Set(lanes) == ["apns.production/org.example"])
  }

  @Test func `a migrated database has the tables of a new one`() throws {
    try writeThree()
    for path in [folder, folder + "/new"] {
      try Store(folder: path) { for completion in $0 { completion() } }.close()
    }
    let schemas = try [folder, folder + "/new"].map { path in
      try DatabaseQueue(path: path + "/stillwire.db").read { db in
        try String.fetchAll(db, sql: "SELECT sql FROM sqlite_master WHERE sql IS NOT NULL ORDER BY name")
      }
    }
    #expect(schemas[0] == schemas[1])
    #expect(schemas[0].count > 25)
  }
}
