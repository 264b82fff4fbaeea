// SPDX-License-Identifier: Apache-2.0
import RelayCluster
import Synchronization
import Testing

@Suite struct ClusterNodeTests {
  /// A cluster of fresh nodes with a leader and these rows.
  private func started(nodes count: Int = 3, rows: Set<Int> = [1, 2, 3]) throws -> TestCluster {
    let cluster = TestCluster(nodes: count)
    try #require(cluster.run { cluster.leading != nil })
    for row in rows.sorted() { cluster.write(row, at: cluster.leading) }
    try #require(cluster.waitForRows(rows))
    return cluster
  }

  @Test func `three fresh nodes found one cluster with the secret of the first leader`() throws {
    let cluster = try started()
    let leader = try #require(cluster.leading)
    #expect(cluster.processes.count { $0.journal != nil } == 1)
    #expect(Set(cluster.processes.map(\.folder.current.secret)) == [leader.folder.current.secret])
    #expect(leader.board.current.role == .leader)
    #expect(leader.board.current.snapshotsPublished == 1)
    for follower in cluster.processes where follower !== leader {
      #expect(follower.board.current.role == .follower)
      #expect(follower.board.current.leader == leader.leader)
      #expect(follower.board.current.snapshotsLoaded == 1)
    }
  }

  @Test func `a follower takes over after the leader's death, within 1.5 s`() throws {
    let cluster = try started()
    let first = try #require(cluster.leading)
    cluster.kill(first)
    let began = cluster.clock.elapsed
    #expect(cluster.run { cluster.leading != nil })
    #expect(cluster.clock.elapsed - began < .milliseconds(1_500))
    cluster.write(4, at: cluster.leading)
    cluster.restart(first)
    #expect(cluster.waitForRows([1, 2, 3, 4]))
    #expect(cluster.leading?.journal?.position.term == 2)
  }

  @Test(arguments: [2, 3]) func `another node leads at once after a step-down, and the old leader is not elected`(
    _ count: Int
  ) throws {
    let cluster = try started(nodes: count)
    for row in 10..<15 {
      let old = try #require(cluster.leading)
      let began = cluster.clock.elapsed
      old.journal?.stepDown()
      #expect(cluster.run { cluster.leading != nil })
      #expect(cluster.clock.elapsed - began < .milliseconds(200))
      #expect(cluster.leading?.leader != old.leader)
      let events = try #require(cluster.leading).events.all
      #expect(events.contains(.leaderLeft(old.leader)) && !events.contains(.leaderSilent))
      cluster.write(row, at: cluster.leading)
      cluster.run(for: .seconds(2)) { false }
    }
    #expect(cluster.waitForRows(Set([1, 2, 3] + (10..<15))))
  }

  @Test func `a node that stepped down leads again if no other node does`() throws {
    let cluster = try started(nodes: 1)
    let began = cluster.clock.elapsed
    cluster.leading?.journal?.stepDown()
    #expect(cluster.run { cluster.leading != nil })
    let time = cluster.clock.elapsed - began
    #expect((Takeover.reluctance...Takeover.reluctance + .milliseconds(500)).contains(time))
  }

  @Test func `the first snapshot is not tried after the end of the leadership`() throws {
    let cluster = TestCluster(nodes: 1)
    try #require(cluster.run { cluster.leading != nil })
    let process = try #require(cluster.leading)
    cluster.log.change { $0.isDown = true }
    process.folder.change { $0.hasSnapshot = false }
    let begin = cluster.clock.elapsed
    var attempts = 0
    let isPublished = ClusterNode.publishFirstSnapshot(
      process.transfer, of: try process.folder.open(), at: .at(1), board: process.board,
      isOver: {
        attempts += 1
        return cluster.clock.elapsed - begin > .seconds(60)
      }, onEvent: { process.events.append($0) })
    #expect(!isPublished)
    // The pause does not grow.
    #expect((120...124).contains(attempts))
    #expect(cluster.clock.elapsed - begin < .seconds(61))
  }

  @Test func `a new leader does not wait for the store of snapshots, also after a restart of its process`() throws {
    let cluster = try started()
    cluster.log.change { $0.hasNoStoreLeader = true }
    for row in 4...6 {
      let old = try #require(cluster.leading)
      cluster.kill(old)
      let began = cluster.clock.elapsed
      #expect(cluster.run { cluster.leading != nil })
      #expect(cluster.clock.elapsed - began < .milliseconds(1_500))
      cluster.write(row, at: cluster.leading)
      for process in cluster.processes where process.journal == nil { cluster.restart(process) }
      #expect(cluster.waitForRows(Set(1...row)))
    }
  }

  @Test func `the first leader of a log waits for the store of snapshots, also after its restart`() throws {
    let cluster = TestCluster(nodes: 1)
    cluster.log.change { $0.hasNoStoreLeader = true }
    cluster.clock.onWait { [log = cluster.log] elapsed in
      if elapsed > .seconds(20) { log.change { $0.hasNoStoreLeader = false } }
    }
    // The log exists, as after a reset without its snapshot.
    cluster.log.change { log in
      log.generation = 7
      _ = log.model.store(.term(1, 1))
    }
    cluster.processes[0].folder.change { file in
      file.rows = [1]
      file.position = .at(1)
    }
    #expect(cluster.run { cluster.leading != nil })
    #expect(cluster.clock.elapsed > .seconds(20))
    #expect(cluster.processes[0].board.current.snapshotsPublished == 1)
    #expect(cluster.processes[0].folder.current.hasSnapshot)
  }

  @Test func `a node takes over although nothing makes consumers, and applies the last records before`() throws {
    let cluster = try started(nodes: 2)
    let leader = try #require(cluster.leading)
    cluster.log.change { $0.hasNoConsumers = true }
    for row in 10..<310 { cluster.write(row, at: leader) }
    cluster.kill(leader)
    let began = cluster.clock.elapsed
    #expect(cluster.run { cluster.leading != nil })
    #expect(cluster.clock.elapsed - began < .milliseconds(1_600))
    #expect(cluster.leading?.folder.current.rows == Set([1, 2, 3] + (10..<310)))
  }

  @Test func `a difference of clocks between the nodes does not move the clock for keys`() throws {
    let cluster = try started()
    var newest = Duration.zero
    for offset in [Duration.seconds(600), .seconds(-86_400), .zero, .seconds(40 * 86_400)] {
      let old = try #require(cluster.leading)
      let before = try #require(old.journal).keyTime
      for process in cluster.processes where process !== old { process.clock.offset.withLock { $0 = offset } }
      cluster.kill(old)
      #expect(cluster.run { cluster.leading != nil })
      let journal = try #require(cluster.leading?.journal)
      // The time without a leader does not count.
      #expect((Duration.milliseconds(-400)...Duration.milliseconds(400)).contains(journal.keyTime - before))
      cluster.restart(old)
      cluster.run(for: .seconds(3)) { false }
      #expect((Duration.milliseconds(2_600)...Duration.milliseconds(3_400)).contains(journal.keyTime - before))
      let times = cluster.log.change { $0.model.records.map(\.time) }
      #expect(times == times.sorted())
      #expect(times.last.map { $0 > newest } == true)
      newest = times.last ?? .zero
    }
  }

  @Test(arguments: [0, 1]) func `of two standbys, the one whose clock agrees with the leader takes over`(_ wrong: Int)
    throws
  {
    let cluster = try started()
    for _ in 0..<5 {
      let old = try #require(cluster.leading)
      let standbys = cluster.processes.filter { $0 !== old }
      standbys[wrong].clock.offset.withLock { $0 = .seconds(600) }
      cluster.run(for: .seconds(10)) { false }
      LogMonitor.look(at: cluster.log, standbys[wrong].inbox, standbys[wrong].board, standbys[wrong].clock)
      #expect(cluster.health(of: standbys[wrong]).clockDifference == .seconds(600))
      cluster.kill(old)
      #expect(cluster.run(for: .seconds(2)) { cluster.leading != nil })
      #expect(cluster.leading === standbys[1 - wrong])
      standbys[wrong].clock.offset.withLock { $0 = .zero }
      cluster.restart(old)
      cluster.run(for: .seconds(10)) { false }
    }
  }

  @Test func `a node with a wrong clock takes over if no other node does`() throws {
    let cluster = try started(nodes: 2)
    let old = try #require(cluster.leading)
    let standby = try #require(cluster.processes.first { $0 !== old })
    standby.clock.offset.withLock { $0 = .seconds(600) }
    cluster.run(for: .seconds(10)) { false }
    cluster.kill(old)
    #expect(cluster.run(for: .seconds(2)) { cluster.leading === standby })
  }

  @Test func `a takeover that the log refuses for long is reported once a minute`() throws {
    let cluster = try started(nodes: 2)
    let first = try #require(cluster.leading)
    let other = try #require(cluster.processes.first { $0 !== first })
    cluster.kill(first)
    let failure = PublishOutcome.unknown(reason: "maximum bytes exceeded")
    cluster.log.change { $0.lost = Array(repeating: failure, count: 100_000) }
    let reports = { other.events.all.count { $0 == .takeoverUnknown(reason: "maximum bytes exceeded") } }
    #expect(!cluster.run(for: .seconds(9)) { reports() > 0 })
    #expect(cluster.run(for: .seconds(5)) { reports() == 1 })
    #expect(!cluster.run(for: .seconds(55)) { reports() > 1 })
    #expect(cluster.run(for: .seconds(10)) { reports() == 2 })
    #expect(other.board.current.unknown > 0)
    #expect(cluster.health(of: other).obstacle == .takeoverRefused(reason: "maximum bytes exceeded"))
    cluster.log.change { $0.lost = [] }
    #expect(cluster.run { cluster.leading != nil })
  }

  @Test func `a founder that died before its snapshot goes on after its restart, and no other node begins`() throws {
    let cluster = TestCluster(nodes: 2)
    // The founder's first record is stored, and the founder dies without an answer.
    cluster.log.change { $0.unanswered = 1 }
    try #require(cluster.run { cluster.log.change { $0.model.last } == 1 })
    guard case .record(let record) = try cluster.log.read(1), case .term(let leader) = record.content else {
      return #expect(Bool(false), "the first record is a term")
    }
    let founder = try #require(cluster.processes.first { $0.leader == leader })
    let other = try #require(cluster.processes.first { $0 !== founder })
    cluster.kill(founder)
    #expect(!cluster.run(for: .seconds(50)) { cluster.leading != nil })
    #expect(other.board.current.alarm == nil)
    // The operator gets an alarm that names the founder.
    #expect(cluster.run { other.board.current.alarm == .missingSnapshot(founder: leader.name) })
    #expect(other.board.current.role == .alarm)
    #expect(other.events.all.contains(.alarm(.missingSnapshot(founder: leader.name))))
    #expect("\(Alarm.missingSnapshot(founder: leader.name))".contains("Start the node \(leader.name)"))
    let again = cluster.restart(founder)
    #expect(cluster.run { cluster.leading != nil })
    #expect(cluster.leading === again)
    cluster.write(1, at: again)
    #expect(cluster.waitForRows([1]))
    #expect(other.board.current.alarm == nil)
    #expect(other.board.current.role == .follower)
    #expect(Set(cluster.processes.map(\.folder.current.secret)) == [again.folder.current.secret])
  }

  @Test func `a founder without its disk does not begin the cluster again`() throws {
    let cluster = TestCluster(nodes: 1)
    cluster.log.change { $0.unanswered = 1 }
    try #require(cluster.run { cluster.log.change { $0.model.last } == 1 })
    cluster.kill(cluster.processes[0])
    cluster.processes[0].folder.change { $0 = TestContents(secret: 99) }
    let again = cluster.restart(cluster.processes[0])
    #expect(cluster.run(for: .seconds(70)) { again.board.current.alarm != nil })
    #expect(cluster.log.change { $0.model.last } == 1)
  }

  @Test func `an empty node does not lead while a node with data begins a log`() throws {
    let cluster = TestCluster(nodes: 1)
    let empty = cluster.processes[0]
    // `stillwire cluster reset` has stored the first record, and now uploads the copy.
    let data = TestFolder(secret: 7)
    data.change { file in
      file.rows = [1, 2, 3]
      file.position = .at(1)
    }
    cluster.log.change { log in
      log.generation = 7
      _ = log.model.store(.term(1, 1))
    }
    #expect(!cluster.run(for: .seconds(300)) { cluster.leading != nil })
    #expect(empty.board.current.alarm == .missingSnapshot(founder: Leader.test.name))
    // A leader that lives is about to publish.
    let heartbeat = Heartbeat(term: 1, sequence: 1, leader: .test)
    empty.inbox.received(heartbeat, at: cluster.clock.now)
    _ = empty.node?.turn()
    #expect(empty.board.current.alarm == nil)
    #expect(empty.board.current.role == .loading)
    #expect(!cluster.run(for: .seconds(50)) { empty.board.current.alarm != nil })
    #expect(cluster.run(for: .seconds(20)) { empty.board.current.alarm != nil })
    // The upload failed, and the operator starts the node with the data.
    let source = cluster.add(data)
    #expect(cluster.run { cluster.leading != nil })
    #expect(cluster.leading === source)
    #expect(cluster.waitForRows([1, 2, 3]))
    #expect(empty.folder.current.secret == 7)
    #expect(empty.board.current.alarm == nil)
  }

  @Test func `an empty node that lost the election follows the founder, also after a crash`() throws {
    let cluster = TestCluster(nodes: 2)
    let loser = cluster.processes[0]
    // The claim of an earlier run, which the log never stored.
    loser.folder.change { $0.position = LogPosition(generation: 7, term: 1, sequence: 1, gid: "other") }
    try #require(cluster.run { cluster.leading != nil })
    cluster.write(1, at: cluster.leading)
    #expect(cluster.waitForRows([1]))
    cluster.kill(loser)
    loser.folder.change { file in
      file = TestContents(secret: 55)
      file.position = LogPosition(generation: 7, term: 1, sequence: 1, gid: "other")
    }
    cluster.restart(loser)
    #expect(cluster.waitForRows([1]))
    #expect(cluster.processes.allSatisfy { $0.alarm == nil })
    #expect(Set(cluster.processes.map(\.folder.current.secret)).count == 1)
  }

  @Test func `an empty node goes on if the log is deleted and created before the cluster begins`() throws {
    let cluster = TestCluster(nodes: 1)
    cluster.run(for: .milliseconds(100)) { false }
    cluster.log.change { $0.generation = 8 }
    #expect(cluster.run { cluster.leading != nil })
    #expect(cluster.leading?.journal?.position.generation == 8)
  }

  @Test func `a fresh node waits while the log has no snapshot`() throws {
    let cluster = TestCluster(nodes: 1)
    cluster.log.change { log in
      log.generation = 7
      _ = log.model.store(.term(1, 1))
      _ = log.model.store(.rows(2, Array("5".utf8)))
    }
    #expect(!cluster.run(for: .seconds(10)) { cluster.leading != nil })
    #expect(cluster.processes[0].events.all.count { $0 == .waitsForSnapshot } == 1)
    #expect(cluster.processes[0].folder.current.position == nil)
    #expect(cluster.health(of: cluster.processes[0]).obstacle == .waitingForSnapshot)
  }

  @Test func `a node that joins later loads the snapshot`() throws {
    let cluster = try started()
    let late = cluster.add(TestFolder(secret: 99))
    #expect(cluster.waitForRows([1, 2, 3]))
    #expect(late.folder.current.secret == cluster.leading?.folder.current.secret)
  }

  @Test func `a node with data that follows no log stops`() throws {
    let cluster = try started()
    let folder = TestFolder(secret: 99)
    folder.change { _ = $0.rows.insert(77) }
    let stranger = cluster.add(folder)
    #expect(cluster.run { stranger.alarm != nil })
    #expect(stranger.alarm == .unrelatedFile)
    #expect(stranger.board.current.role == .alarm)
    #expect("\(Alarm.unrelatedFile)".contains("stillwire cluster reset"))
    #expect(folder.current.rows == [77])
    #expect(!folder.isOpen)
  }

  @Test func `a follower that is too far behind loads the snapshot`() throws {
    let cluster = try started()
    let follower = try #require(cluster.processes.first { $0.journal == nil })
    cluster.kill(follower)
    let leader = try #require(cluster.leading)
    for row in 10..<20 { cluster.write(row, at: leader) }
    _ = try leader.transfer.publish()
    cluster.log.change { $0.model.truncate(below: $0.model.last) }
    let again = cluster.restart(follower)
    #expect(cluster.waitForRows(Set([1, 2, 3] + (10..<20))))
    #expect(again.board.current.snapshotsLoaded == 1)
    #expect(again.alarm == nil)
  }

  @Test func `a conflict is mended by the snapshot`() throws {
    let cluster = try started()
    let leader = try #require(cluster.leading)
    let follower = try #require(cluster.processes.first { $0.journal == nil })
    follower.folder.change { _ = $0.rows.insert(50) }
    cluster.write(50, at: leader)
    cluster.write(51, at: leader)
    _ = try leader.transfer.publish()
    #expect(cluster.waitForRows([1, 2, 3, 50, 51]))
    #expect(follower.board.current.conflicts == 1)
    #expect(follower.board.current.snapshotsLoaded == 2)
    #expect(follower.alarm == nil)
  }

  @Test func `a conflict with the snapshot, too, is an alarm`() throws {
    let cluster = try started()
    let follower = try #require(cluster.processes.first { $0.journal == nil })
    // A record that repeats a row of the newest snapshot.
    let leader = try #require(cluster.leading)
    _ = try leader.transfer.publish()
    let decision = try #require(leader.journal).decide(Array("3".utf8))
    guard case .commit(let position) = decision else { return #expect(Bool(false), "\(decision)") }
    leader.journal?.committed()
    #expect(cluster.run { follower.alarm != nil })
    #expect(follower.alarm == .conflict(position.sequence))
    #expect(follower.board.current.conflicts == 2)
  }

  /// Kills the leader while it publishes a record that only one server keeps. Then another node leads, and writes.
  private func leaveStray(_ row: Int, _ cluster: TestCluster) throws -> UInt64 {
    let leader = try #require(cluster.leading)
    let position = try #require(leader.journal).position
    let stray = LogRecord(
      sequence: position.sequence + 1, term: position.term, gid: "stray\(row)", content: .rows(Array("\(row)".utf8)))
    cluster.log.change { $0.strays[stray.sequence] = stray }
    // New readers, so that one of the followers reads the stray record.
    for process in cluster.processes { process.inbox.disconnected() }
    cluster.kill(leader)
    try #require(cluster.run { cluster.leading != nil })
    cluster.restart(leader)
    cluster.write(row + 1, at: cluster.leading)
    return stray.sequence
  }

  @Test func `a record that one server kept alone is replaced by the snapshot, also if it is delivered again`() throws {
    let cluster = try started(nodes: 5)
    let sequence = try leaveStray(50, cluster)
    #expect(cluster.waitForRows([1, 2, 3, 51]))
    let mended = cluster.processes.filter { $0.board.current.conflicts > 0 }
    #expect(!mended.isEmpty)
    for process in mended {
      #expect(process.board.current.conflicts == 1)
      #expect(process.folder.kept.withLock { $0?.rows } == [1, 2, 3, 50])
      #expect(
        process.events.all.contains { if case .diverged(let at, 2) = $0 { at.sequence == sequence } else { false } })
      #expect(process.events.all.contains(.kept(path: process.folder.path + "/kept")))
    }
    #expect(cluster.processes.allSatisfy { $0.alarm == nil })
    #expect(cluster.run { cluster.processes.allSatisfy { cluster.health(of: $0).obstacle == nil } })
  }

  @Test func `a node whose newest record is not in the log does not take over`() throws {
    let cluster = try started(nodes: 2)
    let leader = try #require(cluster.leading)
    let follower = try #require(cluster.processes.first { $0 !== leader })
    let next = try #require(leader.journal).position.sequence + 1
    cluster.log.change { log in
      log.strays[next] = .rows(next, gid: "stray", Array("50".utf8))
      log.readers = 1
    }
    follower.inbox.disconnected()
    cluster.run(for: .milliseconds(100)) { false }
    cluster.write(4, at: leader)
    try #require(cluster.run { follower.folder.current.rows == [1, 2, 3, 50] })
    cluster.kill(leader)
    #expect(cluster.run { cluster.leading != nil })
    #expect(cluster.leading === follower)
    #expect(follower.folder.current.rows == [1, 2, 3, 4])
    #expect(follower.folder.kept.withLock { $0?.rows } == [1, 2, 3, 50])
  }

  @Test func `a record that does not follow, and that the log does not have, is read again`() throws {
    let cluster = try started(nodes: 4)
    let next = try #require(cluster.leading?.journal).position.sequence + 1
    cluster.log.change { $0.strays[next] = .rows(next, term: 9, gid: "stray", Array("50".utf8)) }
    for process in cluster.processes { process.inbox.disconnected() }
    cluster.run(for: .milliseconds(100)) { false }
    cluster.write(4, at: cluster.leading)
    #expect(cluster.waitForRows([1, 2, 3, 4]))
    #expect(cluster.processes.allSatisfy { $0.alarm == nil && $0.board.current.conflicts == 0 })
  }

  @Test func `a record of a term that no node has begun is an alarm`() throws {
    let cluster = try started(nodes: 2)
    let follower = try #require(cluster.processes.first { $0.journal == nil })
    cluster.log.change { log in _ = log.model.store(.rows(log.model.last + 1, term: 9, gid: "x")) }
    #expect(cluster.run { follower.alarm != nil })
    #expect(follower.alarm?.code == "unexpected_term")
    #expect(follower.folder.kept.withLock { $0 } == nil)
  }

  @Test func `a damaged file is replaced by the snapshot`() throws {
    let cluster = try started()
    let leader = try #require(cluster.leading)
    let follower = try #require(cluster.processes.first { $0.journal == nil })
    let loaded = follower.board.current.snapshotsLoaded
    follower.folder.isDamaged.withLock { $0 = true }
    cluster.write(50, at: leader)
    #expect(cluster.waitForRows([1, 2, 3, 50]))
    #expect(follower.board.current.snapshotsLoaded == loaded + 1)
    #expect(follower.board.current.fileFailures == 1)
    #expect(cluster.run { cluster.health(of: follower).obstacle == nil })
    #expect(follower.events.all.contains(.fileFailed(reason: "malformed")))
  }

  @Test func `a leader with a damaged file gives its place away, and loads a snapshot before it follows`() throws {
    let cluster = try started()
    let leader = try #require(cluster.leading)
    leader.folder.isUnreadable.withLock { $0 = true }
    let again = cluster.restart(leader, isReluctant: true, isDamaged: true)
    #expect(cluster.run { cluster.leading != nil && again.board.current.role == .follower })
    #expect(cluster.leading !== again)
    #expect(again.board.current.snapshotsLoaded == 1 && again.board.current.fileFailures == 0)
    cluster.write(50, at: cluster.leading)
    #expect(cluster.waitForRows([1, 2, 3, 50]))
    // The log has everything that the leader has acknowledged.
    #expect(again.folder.kept.withLock { $0 } == nil)
  }

  @Test func `a leader with a damaged file leads again after a snapshot if there is no other node`() throws {
    let cluster = try started(nodes: 1)
    let leader = cluster.processes[0]
    leader.folder.isUnreadable.withLock { $0 = true }
    let again = cluster.restart(leader, isReluctant: true, isDamaged: true)
    #expect(cluster.run { cluster.leading === again })
    #expect(again.folder.current.rows == [1, 2, 3])
  }

  @Test func `a node whose damaged file cannot be opened keeps it and loads a snapshot`() throws {
    let cluster = try started()
    let follower = try #require(cluster.processes.first { $0.journal == nil })
    let before = follower.folder.current
    follower.folder.isUnreadable.withLock { $0 = true }
    let again = cluster.restart(follower)
    #expect(cluster.run { again.board.current.role == .follower })
    #expect(again.folder.current.rows == [1, 2, 3])
    #expect(again.folder.kept.withLock { $0 } == before)
    #expect(again.events.all.contains(.fileFailed(reason: "malformed")))
  }

  @Test(arguments: [nil, LogPosition(generation: -1, term: 1, sequence: 5, gid: "x")])
  func `a damaged file that does not follow this log is left to the operator`(position: LogPosition?) throws {
    let cluster = try started()
    let follower = try #require(cluster.processes.first { $0.journal == nil })
    follower.folder.change { $0.position = position }
    follower.folder.isUnreadable.withLock { $0 = true }
    let again = cluster.restart(follower)
    #expect(!cluster.run(for: .seconds(10)) { again.board.current.role != .loading })
    #expect(cluster.health(of: again).obstacle == .fileFailed(reason: "malformed"))
    #expect(again.folder.current.position == position)
  }

  @Test func `a node with a full disk does not take over, and the leader with one leaves`() throws {
    let cluster = try started()
    let first = try #require(cluster.leading)
    let full = try #require(cluster.processes.first { $0.journal == nil })
    full.folder.isFull.withLock { $0 = true }
    // The leader cannot commit a group that the log contains.
    guard case .commit = first.journal?.decide(Array("50".utf8)) else { return #expect(Bool(false), "not decided") }
    first.folder.isFull.withLock { $0 = true }
    first.journal?.commitFailed()
    #expect(cluster.run(for: .seconds(1)) { cluster.leading != nil })
    let next = try #require(cluster.leading)
    #expect(next !== full && next.leader != first.leader)
    cluster.write(51, at: next)
    cluster.run(for: .seconds(2)) { false }
    // No node without space for its file writes a term.
    cluster.kill(next)
    let term = cluster.log.change { $0.model.term }
    #expect(!cluster.run(for: .seconds(20)) { cluster.leading != nil })
    #expect(cluster.log.change { $0.model.term } == term)
    let obstacle = NodeObstacle.fileFailed(reason: "database or disk is full")
    #expect(cluster.processes.filter { $0.node != nil }.allSatisfy { cluster.health(of: $0).obstacle == obstacle })
    full.folder.isFull.withLock { $0 = false }
    #expect(cluster.run { cluster.leading === full })
    #expect(full.folder.current.rows == [1, 2, 3, 50, 51])
  }

  @Test func `an idle node with a full disk writes no term`() throws {
    let cluster = try started(nodes: 2)
    let follower = try #require(cluster.processes.first { $0.journal == nil })
    follower.folder.isFull.withLock { $0 = true }
    let leader = try #require(cluster.leading)
    cluster.kill(leader)
    #expect(!cluster.run(for: .seconds(20)) { cluster.leading != nil })
    #expect(cluster.log.change { $0.model.term } == 1)
    cluster.restart(leader)
    #expect(cluster.run { cluster.leading?.leader == leader.leader })
  }

  @Test func `a snapshot with a wrong hash is not installed`() throws {
    let cluster = try started()
    let leader = try #require(cluster.leading)
    let manifest = try leader.transfer.publish()
    cluster.log.change { $0.chunks[manifest.id]?[0]?[0] = UInt8(ascii: "x") }
    let late = cluster.add(TestFolder(secret: 99))
    #expect(
      cluster.run { late.events.all.contains(.snapshotRejected(id: manifest.id, .wrongHash)) })
    #expect(late.folder.current.secret == 99)
    #expect(late.alarm == nil)
    // The next one is right.
    cluster.write(4, at: leader)
    _ = try leader.transfer.publish()
    #expect(cluster.waitForRows([1, 2, 3, 4]))
    #expect(late.folder.current.secret == leader.folder.current.secret)
  }

  @Test func `a log that was created again stops the nodes`() throws {
    let cluster = try started()
    for process in cluster.processes { cluster.kill(process) }
    cluster.log.change { log in
      log.model = ModelLog()
      log.generation = 8
    }
    for process in cluster.processes { cluster.restart(process) }
    #expect(cluster.run { cluster.processes.allSatisfy { $0.alarm != nil } })
    for process in cluster.processes {
      guard case .recreated = process.alarm else {
        Issue.record("\(String(describing: process.alarm))")
        continue
      }
    }
    // A fresh node does not begin a second cluster.
    let late = cluster.add(TestFolder(secret: 99))
    #expect(cluster.run { late.alarm != nil })
    #expect(late.alarm?.code == "orphaned_snapshot")
  }

  /// Servers of NATS 2.9.10 may change the time of creation when they start again.
  @Test func `another time of creation of the same log stops nobody`() throws {
    let cluster = try started()
    for (row, generation) in [(10, 8), (11, 7), (12, 9)] {
      cluster.log.change { $0.generation = Int64(generation) }
      for process in cluster.processes { process.inbox.disconnected() }
      cluster.leading?.journal?.disconnected()
      cluster.write(row, at: cluster.leading)
      cluster.run(for: .seconds(1)) { false }
      _ = try #require(cluster.processes.first { $0.journal == nil }).transfer.publish()
      let old = try #require(cluster.leading)
      cluster.kill(old)
      #expect(cluster.run(for: .seconds(5)) { cluster.leading != nil })
      cluster.restart(old)
      cluster.run(for: .seconds(2)) { false }
    }
    // A new node loads a snapshot of an earlier time.
    cluster.log.change { $0.generation = 10 }
    cluster.add(TestFolder(secret: 99))
    #expect(cluster.waitForRows([1, 2, 3, 10, 11, 12]))
    #expect(cluster.processes.allSatisfy { $0.alarm == nil })
    #expect(cluster.processes.allSatisfy { $0.board.current.snapshotsPublished <= 4 })
  }

  @Test func `an idle follower writes its position now and then`() throws {
    let cluster = try started()
    let follower = try #require(cluster.processes.first { $0.journal == nil })
    let before = follower.folder.commits.withLock { $0 }
    cluster.run(for: .seconds(130)) { false }
    let commits = follower.folder.commits.withLock { $0 } - before
    #expect((1...3).contains(commits))
    #expect(cluster.health(of: follower).lag.map { $0 <= 1 } == true)
  }

  @Test func `a server without the newest records does not stay the leader of the log`() throws {
    let cluster = try started()
    let leader = try #require(cluster.leading)
    leader.isPaused = true
    cluster.log.change { $0.hidden = 1 }
    let followers = cluster.processes.filter { $0 !== leader }
    for follower in followers { follower.inbox.disconnected() }
    cluster.run(for: .seconds(5)) { false }
    #expect(cluster.log.change { $0.elections } >= 1)
    #expect(followers.contains { $0.events.all.contains { if case .electsServer = $0 { true } else { false } } })
    leader.isPaused = false
    #expect(cluster.run { cluster.leading != nil })
    guard let next = cluster.leading else { return }
    cluster.write(4, at: next)
    #expect(cluster.waitForRows([1, 2, 3, 4]))
    #expect(cluster.processes.allSatisfy { $0.alarm == nil })
  }

  @Test func `an alarm about lost records ends when the log has them again`() throws {
    let cluster = try started()
    let leader = try #require(cluster.leading)
    leader.isPaused = true
    // No server has the record, until one comes back.
    cluster.log.change { log in (log.hidden, log.isHiddenEverywhere) = (1, true) }
    let followers = cluster.processes.filter { $0 !== leader }
    for follower in followers { follower.inbox.disconnected() }
    #expect(
      cluster.run(for: .seconds(60)) { followers.allSatisfy { $0.board.current.alarm?.code == "lost_tail" } })
    #expect(followers.allSatisfy { $0.board.current.role == .alarm })
    cluster.run(for: .seconds(150)) { false }
    for follower in followers {
      // One event a minute.
      #expect((2...4).contains(follower.events.all.count { if case .alarm = $0 { true } else { false } }))
    }
    cluster.log.change { $0.hidden = 0 }
    leader.isPaused = false
    #expect(cluster.run { cluster.leading != nil && followers.allSatisfy { $0.board.current.alarm == nil } })
    cluster.write(4, at: cluster.leading)
    #expect(cluster.waitForRows([1, 2, 3, 4]))
  }

  /// The leader dies, and its machine led the log, too. The followers have no sign of it while the log's servers elect.
  /// They are connected since this time after its death. A node that is connected late must not take over early.
  @Test(arguments: [-1_000, 1_000, 4_900])
  func `after an outage of the log, a silence of the leader that began before counts`(_ connected: Int) throws {
    let cluster = try started()
    cluster.log.change { $0.isDown = true }
    for process in cluster.processes {
      process.inbox.disconnected()
      if connected < 0 { process.inbox.connected(at: cluster.clock.now - .milliseconds(-connected)) }
    }
    cluster.kill(try #require(cluster.leading))
    cluster.run(for: .milliseconds(max(connected, 0))) { false }
    if connected > 0 { for process in cluster.processes { process.inbox.connected(at: cluster.clock.now) } }
    cluster.run(for: .milliseconds(5_000 - max(connected, 0))) { false }
    cluster.log.change { $0.isDown = false }
    if connected > 4_000 { #expect(!cluster.run(for: .milliseconds(850)) { cluster.leading != nil }) }
    // The pause between two attempts, the time of a heartbeat that is on its way, and the jitter.
    #expect(cluster.run(for: .milliseconds(1_050)) { cluster.leading != nil })
  }

  /// The followers are connected again before the leader is, at this time of the outage, or never.
  @Test(arguments: [nil, 1, 4]) func `an outage of the log changes no leader`(_ connected: Int?) throws {
    let cluster = try started()
    let leader = try #require(cluster.leading)
    cluster.log.change { $0.isDown = true }
    for process in cluster.processes { process.inbox.disconnected() }
    let followers = cluster.processes.filter { $0 !== leader }
    // The leader's writer would block, so only the followers run.
    leader.isPaused = true
    cluster.run(for: .seconds(connected ?? 0)) { false }
    if connected != nil { for follower in followers { follower.inbox.connected(at: cluster.clock.now) } }
    cluster.run(for: .seconds(5 - (connected ?? 0))) { false }
    for follower in followers {
      #expect(cluster.health(of: follower).obstacle == .logUnavailable(reason: "the servers are down"))
    }
    cluster.log.change { $0.isDown = false }
    leader.isPaused = false
    leader.journal?.disconnected()
    cluster.write(4, at: leader)
    #expect(cluster.waitForRows([1, 2, 3, 4]))
    #expect(cluster.leading === leader)
    for follower in followers {
      #expect(follower.events.all.count { if case .logUnavailable = $0 { true } else { false } } == 1)
      #expect(follower.events.all.contains(.logAvailable))
      #expect(cluster.run { cluster.health(of: follower).obstacle == nil })
    }
  }
}
