// SPDX-License-Identifier: Apache-2.0
import CNATS
import ChildProcess
import Foundation
import RelayCluster
import Synchronization
import Testing

@testable import RelayNATS

/// The behaviour of nats-server 2.9 and cnats 3.4.1 that the design depends on, or avoids.
@Suite(.serialized) struct NATSTrapTests {
  private let stage = Stage()

  @Test(arguments: [1, 3]) func `a wrong expected sequence is rejected`(_ replicas: Int) throws {
    let log = try stage.log(replicas: replicas)
    #expect(log.publish(.rows(1)) == .stored(1))
    #expect(log.publish(.rows(1, gid: "other")) == .rejected)
    #expect(log.publish(.rows(3)) == .rejected)
    #expect(log.publish(.rows(2)) == .stored(2))
  }

  /// This is the reason why a leader has one publish in flight.
  @Test(arguments: [1, 3])
  func `with two publishes in flight, a deposed leader's second one is stored`(_ replicas: Int) throws {
    let log = try stage.log(replicas: replicas)
    #expect(try log.publish(.term(1, 1)) == .stored(1))
    // The new leader's record takes the sequence of the old leader's first record.
    #expect(try log.publish(.term(2, 2, node: "b")) == .stored(2))
    #expect(log.publish(.rows(2)) == .rejected)
    #expect(log.publish(.rows(3)) == .stored(3))
    var follower = FollowerStep(position: LogPosition(generation: 1, term: 2, sequence: 2))
    #expect(try follower.received(log.read(3)) == .skip)
  }

  @Test func `cnats does not send an expected sequence of 0 from its options`() throws {
    let log = try stage.log()
    #expect(log.publish(.rows(1)) == .stored(1))
    var options = jsPubOptions()
    jsPubOptions_Init(&options)
    options.ExpectLastSeq = 0
    var answer: UnsafeMutablePointer<jsPubAck>?
    let status = js_Publish(&answer, log.nats.jetStream, log.configuration.logSubject, "x", 1, &options, nil)
    #expect(status == NATS_OK)
    #expect(answer?.pointee.Sequence == 2)
    jsPubAck_Destroy(answer)
    // The header that is written by hand is effective.
    #expect(log.publish(.rows(1, gid: "other")) == .rejected)
  }

  @Test func `a publish that timed out is stored later`() throws {
    let server = try stage.server()
    let log = try stage.log([server]) { $0.timeout = .milliseconds(200) }
    try server.pause()
    guard case .unknown = log.publish(.rows(1)) else {
      Issue.record("the paused server answered")
      return
    }
    server.resume()
    try wait("the record") { (try? log.read(1)) == .record(.rows(1)) }
    #expect(log.publish(.rows(1)) == .stored(1))
  }

  @Test func `a repetition outside the window of ids is rejected, and the record is the publisher's own`() throws {
    let log = try stage.log() { $0.duplicateWindow = .milliseconds(100) }
    #expect(log.publish(.rows(1)) == .stored(1))
    #expect(log.publish(.rows(1)) == .stored(1))
    var resolution = PublishResolution(.rows(1), after: LogPosition(generation: try log.state().generation))
    try wait("the end of the window") { log.publish(.rows(1)) == .rejected }
    #expect(resolution.published(.rejected) == .read(1, after: .zero))
    #expect(try resolution.found(log.read(1)) == .decide(.stored))
  }

  @Test func `a direct read needs a stream that allows it, and js_GetMsg does not`() throws {
    let log = try stage.log() { $0.timeout = .milliseconds(300) }
    #expect(log.publish(.rows(1)) == .stored(1))
    var options = jsDirectGetMsgOptions()
    jsDirectGetMsgOptions_Init(&options)
    options.Sequence = 1
    var message: OpaquePointer?
    let status = js_DirectGetMsg(&message, log.nats.jetStream, log.configuration.logStream, nil, &options)
    #expect(status != NATS_OK)
    #expect(try log.read(1) == .record(.rows(1)))
    #expect(try log.read(2) == .missing)
  }

  @Test func `a server that ends makes the outcome unknown, and a repetition succeeds after its start`() throws {
    let server = try stage.server()
    let log = try stage.log([server])
    #expect(log.publish(.rows(1)) == .stored(1))
    server.kill()
    guard case .unknown = log.publish(.rows(2)) else {
      Issue.record("the ended server answered")
      return
    }
    try server.start()
    try wait("the publish") { log.publish(.rows(2)) == .stored(2) }
    #expect(try log.state().last == 2)
  }

  /// NATS needs some seconds to elect another leader of its servers.
  @Test func `a group is stored once although the servers' leader ends`() throws {
    let log = try stage.log(replicas: 3)
    var leader = LeaderStep(position: LogPosition(generation: try log.state().generation, term: 1))
    func decide(_ gid: String) -> LeaderStep.Action? {
      leader.decide(.rows([1]), gid: gid, time: .zero, on: log) { pause in
        usleep(UInt32(pause / .microseconds(1)))
        return true
      }
    }
    for sequence in 1...3 as ClosedRange<UInt64> {
      if sequence == 2 { stage.kill(try log.serverOfLeader()) }
      let expected = LogPosition(
        generation: leader.position.generation, term: 1, sequence: sequence, gid: "g\(sequence)")
      #expect(decide("g\(sequence)") == .commit(expected))
      leader.committed()
    }
    // All servers know the same time of creation.
    let state = try log.state()
    #expect((state.first, state.last) == (1, 3))
    #expect(state.generation == leader.position.generation)
  }

  @Test func `a full log rejects new records and keeps the old ones`() throws {
    let log = try stage.log() { $0.maxLogBytes = 4_000 }
    #expect(log.publish(.rows(1)) == .stored(1))
    guard case .unknown(let reason) = log.publish(.rows(2, String(repeating: "x", count: 5_000))) else {
      Issue.record("the full log accepted a record")
      return
    }
    #expect(reason.hasPrefix("maximum bytes exceeded"))
    #expect(reason.contains("stillwire cluster snapshot"))
    #expect(try log.state().first == 1)
  }

  /// This is the reason why no header of a record begins with the name of another.
  @Test func `cnats returns the value of a header whose name is longer`() throws {
    let message = try NATSMessage.make(
      "x", headers: [HeaderField("Leader", "n"), HeaderField("Leader-URL", "u")], body: [])
    defer { natsMsg_Destroy(message) }
    #expect(NATSMessage.headers(message).filter { $0.value == "u" }.count == 2)
    let names = RecordHeader.allCases.map(\.rawValue)
    for name in names { #expect(names.filter { $0.hasPrefix(name) } == [name]) }
  }

  @Test func `nats-server removes all records below sequence 1, so the log does not ask for it`() throws {
    let log = try stage.log()
    #expect(log.publish(.rows(1)) == .stored(1))
    try log.truncate(below: 0)
    try log.truncate(below: 1)
    #expect(try log.state().first == 1)
    var options = jsOptions()
    jsOptions_Init(&options)
    options.Stream.Purge.Sequence = 1
    #expect(js_PurgeStream(log.nats.jetStream, log.configuration.logStream, &options, nil) == NATS_OK)
    #expect(try log.state().first == 2)
  }

  @Test func `no record has an expected sequence of its subject`() throws {
    let records = try [
      LogRecord.rows(2), .term(1, 1), LogRecord(sequence: 3, term: 1, gid: "s", content: .schema("a")),
    ]
    for record in records {
      let names = record.headers.map(\.name)
      #expect(names.contains("Nats-Expected-Last-Sequence"))
      #expect(!names.contains("Nats-Expected-Last-Subject-Sequence"))
    }
  }

  /// The server calls fsync every two minutes.
  @Test(.enabled(if: FileManager.default.isExecutableFile(atPath: "/usr/bin/strace")))
  func `nats-server acknowledges records before they are on the disk`() throws {
    let server = try stage.server()
    let log = try stage.log([server])
    let folder = NSTemporaryDirectory() + "/strace-\(UUID().uuidString.prefix(8))"
    defer { for end in ["", ".calls"] { try? FileManager.default.removeItem(atPath: folder + end) } }
    _ = FileManager.default.createFile(atPath: folder, contents: nil)
    let calls = ["-e", "trace=fsync,fdatasync,pwrite64,write", "-o", folder + ".calls"]
    let strace = try ChildProcess(
      ["strace", "-f", "-p", "\(server.pid)"] + calls, output: FileHandle(forWritingAtPath: folder))
    // strace ignores SIGTERM, and ends with the server.
    defer {
      server.kill()
      strace.wait()
    }
    func text(_ end: String) -> String { (try? String(contentsOfFile: folder + end, encoding: .utf8)) ?? "" }
    try wait("strace") { !strace.isRunning || text("").contains("attached") }
    // A container may forbid it.
    guard strace.isRunning else { return }
    for sequence in 1...50 as ClosedRange<UInt64> { #expect(log.publish(.rows(sequence)) == .stored(sequence)) }
    try wait("the calls") { text(".calls").contains("write") }
    #expect(!text(".calls").contains("sync("))
  }

  @Test func `cnats sends a message after a reconnect, so no heartbeat is given to it`() throws {
    let server = try stage.server()
    let log = try stage.log([server])
    let received = Mutex<[UInt64]>([])
    let subscription = try log.onHeartbeat { heartbeat in received.withLock { $0.append(heartbeat.sequence) } }
    func heartbeat(_ sequence: UInt64) -> Heartbeat { Heartbeat(term: 1, sequence: sequence, leader: .test) }
    log.send(heartbeat(1))
    try wait("a heartbeat") { received.withLock { $0 } == [1] }
    server.kill()
    try wait("the disconnect") { !log.nats.isConnected }
    log.send(heartbeat(2))
    let subject = log.configuration.heartbeatSubject
    #expect(natsConnection_PublishString(log.nats.connection, subject, heartbeat(3).text) == NATS_OK)
    try server.start()
    try wait("the message") { received.withLock { $0.contains(3) } }
    #expect(received.withLock { $0 } == [1, 3])
    withExtendedLifetime(subscription) {}
  }

  @Test func `cnats closes the connection after two refusals of its user`() throws {
    let file = NSTemporaryDirectory() + "/nats-\(UUID().uuidString.prefix(8)).conf"
    defer { try? FileManager.default.removeItem(atPath: file) }
    func write(_ password: String) throws {
      try "authorization { user: ann, password: \(password) }".write(toFile: file, atomically: true, encoding: .utf8)
    }
    try write("secret")
    let server = try stage.server(["--config", file])
    let events = Mutex<[NATSEvent]>([])
    let url = "nats://ann:secret@127.0.0.1:\(server.port)"
    let log = try NATSLog(NATSConfiguration(servers: url, cluster: "test", node: "a")) { event in
      events.withLock { $0.append(event) }
    }
    server.kill()
    try write("other")
    try server.start()
    try wait("the end of the connection") { events.withLock { $0.last == .closed } }
    withExtendedLifetime(log) {}
  }

  @Test func `subscriptions end while messages arrive`() throws {
    let log = try stage.log()
    let isOver = Mutex(false)
    let heartbeat = Heartbeat(term: 1, sequence: 1, leader: .test)
    let sender = Thread { [log] in while !isOver.withLock({ $0 }) { log.send(heartbeat) } }
    sender.start()
    defer { isOver.withLock { $0 = true } }
    let count = Mutex(0)
    for _ in 0..<100 {
      let before = count.withLock { $0 }
      let subscription = try log.onHeartbeat { _ in count.withLock { $0 += 1 } }
      try wait("a heartbeat") { count.withLock { $0 } > before }
      withExtendedLifetime(subscription) {}
    }
  }

  @Test func `single records cannot be deleted`() throws {
    let log = try stage.log()
    #expect(log.publish(.rows(1)) == .stored(1))
    #expect(js_DeleteMsg(log.nats.jetStream, log.configuration.logStream, 1, nil, nil) != NATS_OK)
    #expect(try log.read(1) == .record(.rows(1)))
  }
}
