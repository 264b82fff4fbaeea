// SPDX-License-Identifier: Apache-2.0
import RelayCluster
import Synchronization
import Testing

/// Copies of a leader's file, and the loads of a follower, with faults.
@Suite struct SnapshotTransferTests {
  private let cluster = TestCluster(nodes: 1)
  private let leader: TestCluster.Process

  init() throws {
    _ = cluster.run { [cluster] in cluster.leading != nil }
    leader = try #require(cluster.leading)
    cluster.write(1, at: leader)
  }

  private var copies: Int { cluster.log.change { $0.chunks.count } }

  @Test func `a copy is not uploaded if the newest one is as new`() throws {
    _ = try leader.transfer.publish()
    let puts = Mutex(0)
    let count: @Sendable () -> Void = { puts.withLock { $0 += 1 } }
    cluster.log.change { $0.onPut = count }
    #expect(throws: LogUnavailable.self) { try leader.transfer.publish() }
    #expect(puts.withLock { $0 } == 0)
    cluster.write(2, at: leader)
    _ = try leader.transfer.publish()
    #expect(copies == 1)
  }

  @Test func `a copy is made while no other transfer of the file runs`() throws {
    let reasons = Mutex<[String]>([])
    let transfer = leader.transfer
    let again: @Sendable () -> Void = {
      do throws(LogUnavailable) { _ = try transfer.publish() } catch { reasons.withLock { $0.append(error.reason) } }
    }
    cluster.log.change { $0.onPut = again }
    _ = try transfer.publish()
    #expect(reasons.withLock { $0 } == ["another transfer of the file is in progress"])
  }

  @Test func `a rejected copy leaves no chunks`() throws {
    let log = cluster.log
    let before = try log.newest()
    // Another node with the same name removes the chunks of this one.
    let clear: @Sendable () -> Void = {
      log.change { log in for id in log.chunks.keys where id != before?.id { log.chunks[id] = [:] } }
    }
    log.change { $0.onPut = clear }
    log.change { log in log.chunks["node0.other"] = [:] }
    let folder = leader.folder
    folder.change { $0.rows.formUnion(1_000...150_000) }
    #expect(throws: LogUnavailable.self) { try leader.transfer.publish() }
    #expect(try log.newest() == before)
    #expect(Set(log.change { Array($0.chunks.keys) }) == Set([before?.id, "node0.other"].compactMap(\.self)))
  }

  @Test func `a copy whose upload failed leaves no chunks`() throws {
    let log = cluster.log
    let before = try log.newest()
    leader.folder.change { $0.rows.formUnion(1_000...150_000) }
    let deleteStore: @Sendable () -> Void = {
      log.change { $0.hasNoStore = $0.chunks.keys.contains { $0 != before?.id } }
    }
    log.change { $0.onPut = deleteStore }
    #expect(throws: LogUnavailable.self) { try leader.transfer.publish() }
    #expect(log.change { Array($0.chunks.keys) } == [before?.id])
    // The next copy creates the store again.
    log.change { $0.onPut = nil }
    #expect(try leader.transfer.publish() == log.newest())
  }

  @Test func `a manifest without an answer may be the newest`() throws {
    cluster.log.change { $0.unansweredManifests = 1 }
    let manifest = try leader.transfer.publish()
    #expect(try cluster.log.newest() == manifest)
    #expect(copies == 1)
  }

  @Test func `a snapshot without a chunk is rejected with a pause`() throws {
    let manifest = try leader.transfer.publish()
    cluster.log.change { $0.chunks[manifest.id] = [:] }
    let late = cluster.add(TestFolder(secret: 99))
    let rejected = NodeEvent.snapshotRejected(id: manifest.id, .missingChunk(0))
    for _ in 0..<100 {
      guard case .again(let pause) = late.node?.turn(), late.events.all.contains(rejected) else { continue }
      #expect(pause >= .seconds(1))
      break
    }
    #expect(late.events.all.count { $0 == rejected } == 1)
    #expect(late.folder.current.secret == 99)
  }

  @Test func `a snapshot from which the log does not continue is not downloaded`() throws {
    let manifest = try leader.transfer.publish()
    cluster.write(2, at: leader)
    cluster.write(3, at: leader)
    cluster.log.change { log in
      log.model.truncate(below: log.model.last)
      log.chunks[manifest.id] = [:]
    }
    let late = cluster.add(TestFolder(secret: 99))
    let rejected = NodeEvent.snapshotRejected(id: manifest.id, .wrongPosition(manifest.position))
    #expect(cluster.run { late.events.all.contains(rejected) })
  }

  @Test func `a transfer ends at the next chunk after a shutdown`() throws {
    let (log, clock) = (cluster.log, cluster.clock)
    let before = try log.newest()
    leader.folder.change { $0.rows.formUnion(1_000...300_000) }
    let puts = Mutex(0)
    let stop: @Sendable () -> Void = {
      puts.withLock { $0 += 1 }
      clock.stop()
    }
    log.change { $0.onPut = stop }
    #expect(throws: LogUnavailable("the node shuts down")) { try leader.transfer.publish() }
    #expect(puts.withLock { $0 } == 1)
    #expect(log.change { Array($0.chunks.keys) } == [before?.id])
  }
}
