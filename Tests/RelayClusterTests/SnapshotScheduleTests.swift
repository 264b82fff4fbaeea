// SPDX-License-Identifier: Apache-2.0
import RelayCluster
import Testing

@Suite struct SnapshotScheduleTests {
  private let schedule: SnapshotSchedule = {
    var schedule = SnapshotSchedule()
    schedule.maxRecords = 10_000
    schedule.maxBytes = 1_000
    return schedule
  }()

  private func isDue(
    at sequence: UInt64, newest: UInt64?, bytes: UInt64 = 0, isLeader: Bool = false, generation: Int64 = 7
  ) -> Bool {
    let manifest = newest.map { newest in
      var position = LogPosition.at(newest)
      position.generation = generation
      return SnapshotManifest(id: "a.b", position: position, size: 1, hash: String(repeating: "0", count: 64))
    }
    return schedule.isDue(
      at: .at(sequence), isLeader: isLeader, newest: manifest,
      log: LogState(generation: 7, first: 1, last: sequence, bytes: bytes))
  }

  @Test func `a snapshot is due after enough records`() {
    #expect(!isDue(at: 10_009, newest: 10))
    #expect(isDue(at: 10_010, newest: 10))
    #expect(!isDue(at: 10_010, newest: 10, isLeader: true))
    #expect(isDue(at: 40_010, newest: 10, isLeader: true))
    #expect(!isDue(at: 10_010, newest: 10_010))
    #expect(!isDue(at: 5, newest: 10_010))
  }

  @Test func `a snapshot is due if the log is large, and the snapshot would remove records`() {
    let enough = SnapshotTransfer.keptRecords + 1
    #expect(!isDue(at: 10 + enough, newest: 10, bytes: 999))
    #expect(isDue(at: 10 + enough, newest: 10, bytes: 1_000))
    #expect(!isDue(at: 9 + enough, newest: 10, bytes: 1_000))
    #expect(!isDue(at: 10 + enough, newest: 10, bytes: 1_000, isLeader: true))
    #expect(isDue(at: 10 + enough, newest: 10, bytes: 4_000, isLeader: true))
  }

  @Test func `the leader replaces lost snapshots`() {
    #expect(isDue(at: 1, newest: nil, isLeader: true))
    #expect(!isDue(at: 1, newest: nil))
    #expect(isDue(at: 1, newest: 1, isLeader: true, generation: 6))
  }
}
