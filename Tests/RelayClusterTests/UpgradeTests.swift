// SPDX-License-Identifier: Apache-2.0
import RelayCluster
import Testing

/// Nodes of two versions. The next version knows the migration `m2`, and rows from 1000 need it.
@Suite struct UpgradeTests {
  private func started(nodes count: Int = 3) throws -> TestCluster {
    let cluster = TestCluster(nodes: count)
    try #require(cluster.run { cluster.leading != nil })
    for row in 1...3 { cluster.write(row, at: cluster.leading) }
    try #require(cluster.waitForRows([1, 2, 3]))
    return cluster
  }

  private func schemas(_ cluster: TestCluster) -> [String] {
    cluster.log.change { log in
      log.model.records.compactMap { if case .schema(let name) = $0.content { name } else { nil } }
    }
  }

  /// Restarts a node whose leadership has ended, as its process does.
  private func stepDown(_ cluster: TestCluster) throws -> TestCluster.Process {
    let old = try #require(cluster.leading)
    old.journal?.stepDown()
    cluster.restart(old, isReluctant: true)
    let name = old.leader
    try #require(cluster.run { cluster.leading != nil && cluster.leading?.leader != name })
    return try #require(cluster.processes.first { $0.leader == name })
  }

  @Test func `followers first: the next leader migrates, and each node migrates at its record`() throws {
    let cluster = try started()
    for process in cluster.processes where process.journal == nil { cluster.upgrade(process) }
    cluster.write(4, at: cluster.leading)
    #expect(cluster.waitForRows([1, 2, 3, 4]))
    // A follower of the next version keeps the tables of the leader.
    #expect(cluster.processes.allSatisfy { $0.folder.current.migrations == ["m1"] })
    #expect(schemas(cluster).isEmpty)

    let old = try stepDown(cluster)
    #expect(schemas(cluster) == ["m2"])
    for row in 1_000..<1_003 { cluster.write(row, at: cluster.leading) }
    let rows = Set([1, 2, 3, 4] + (1_000..<1_003))
    // The old leader has the old version.
    #expect(cluster.run { old.alarm != nil })
    guard case .unknownSchema("m2", _) = old.alarm else {
      return #expect(Bool(false), "\(String(describing: old.alarm))")
    }
    #expect(old.board.current.role == .alarm)
    #expect(old.alarm.map { "\($0)".contains("Upgrade this node") } == true)
    #expect(old.folder.current.rows == [1, 2, 3, 4])

    cluster.upgrade(old)
    #expect(cluster.waitForRows(rows))
    #expect(cluster.processes.allSatisfy { $0.folder.current.migrations == ["m1", "m2"] && $0.alarm == nil })
    #expect(schemas(cluster) == ["m2"])
  }

  @Test func `leader first: it comes back as a follower, and changes nothing until it leads`() throws {
    let cluster = try started()
    let first = try #require(cluster.leading)
    cluster.kill(first)
    #expect(cluster.run { cluster.leading != nil })
    let upgraded = cluster.upgrade(first)
    cluster.write(4, at: cluster.leading)
    #expect(cluster.waitForRows([1, 2, 3, 4]))
    #expect(schemas(cluster).isEmpty)

    // It leads while the others have the old version: they stop, and it serves alone.
    for process in cluster.processes where process !== upgraded { cluster.kill(process) }
    #expect(cluster.run { cluster.leading === upgraded })
    cluster.write(1_000, at: upgraded)
    for process in cluster.processes where process !== upgraded { cluster.restart(process) }
    let others = cluster.processes.filter { $0 !== upgraded }
    #expect(cluster.run { others.allSatisfy { $0.alarm?.code == "unknown_schema" } })
    cluster.write(1_001, at: upgraded)
    #expect(upgraded.journal?.end == nil)
    for process in others { cluster.upgrade(process) }
    #expect(cluster.waitForRows([1, 2, 3, 4, 1_000, 1_001]))
  }

  @Test func `a leader that dies after the record of its migration continues as a follower`() throws {
    let cluster = try started(nodes: 2)
    let follower = try #require(cluster.processes.first { $0.journal == nil })
    let leader = try #require(cluster.leading)
    cluster.upgrade(follower)
    // The record is stored, and the leader dies before it migrates its file.
    guard case .commit = leader.journal?.decide(.schema("m2")) else { return #expect(Bool(false), "no record") }
    cluster.kill(leader)
    #expect(cluster.run { cluster.leading != nil })
    cluster.write(1_000, at: cluster.leading)
    cluster.upgrade(leader)
    #expect(cluster.waitForRows([1, 2, 3, 1_000]))
    #expect(schemas(cluster) == ["m2"])
  }

  @Test func `an old node that was away stops at a snapshot of the next version`() throws {
    let cluster = try started(nodes: 2)
    let away = try #require(cluster.processes.first { $0.journal == nil })
    cluster.kill(away)
    let leader = try #require(cluster.leading)
    cluster.kill(leader)
    let upgraded = cluster.upgrade(leader)
    #expect(cluster.run { cluster.leading === upgraded })
    cluster.write(1_000, at: upgraded)
    let manifest = try upgraded.transfer.publish()
    cluster.log.change { $0.model.truncate(below: $0.model.last) }
    let again = cluster.restart(away)
    #expect(cluster.run { again.alarm != nil })
    #expect(again.alarm == .newerSchema(snapshot: manifest.id))
    #expect("\(Alarm.newerSchema(snapshot: manifest.id))".contains("Upgrade this node"))
    // The old file is complete for a way back.
    #expect(again.folder.current.rows == [1, 2, 3])
    cluster.upgrade(again)
    #expect(cluster.waitForRows([1, 2, 3, 1_000]))
  }

  @Test func `an old version stops at a file of the next one`() throws {
    let cluster = try started(nodes: 1)
    let process = cluster.processes[0]
    process.folder.change { _ = $0.migrations.insert("m2") }
    let again = cluster.restart(process)
    #expect(cluster.run { again.alarm != nil })
    #expect(again.alarm == .newerSchema(snapshot: nil))
    #expect(again.board.current.role == .alarm)
  }
}
