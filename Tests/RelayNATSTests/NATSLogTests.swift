// SPDX-License-Identifier: Apache-2.0
import CNATS
import ChildProcess
import Foundation
import RelayCluster
import Synchronization
import Testing

@testable import RelayNATS

@Suite(.serialized) struct NATSLogTests {
  private let stage = Stage()

  private func records(_ reader: any LogReader, _ count: Int) throws -> [LogRead] {
    var reads: [LogRead] = []
    try wait("\(count) records") {
      reads += try reader.next(max: count - reads.count, timeout: .milliseconds(100))
      return reads.count == count
    }
    return reads
  }

  @Test func `every kind of record comes back as it was published`() throws {
    let log = try stage.log()
    let written = [
      try .term(1, 7), LogRecord.rows(2, term: 7, String(repeating: "\0\u{e9}", count: LogRecord.maxBody / 3)),
      LogRecord(sequence: 3, term: 7, gid: "s", content: .schema("0.1.0")),
      LogRecord(sequence: 4, term: 7, gid: "n", content: .noop),
    ]
    for record in written { #expect(log.publish(record) == .stored(record.sequence)) }
    for record in written { #expect(try log.read(record.sequence) == .record(record)) }
    #expect(try records(log.follow(after: 0), 4) == written.map { .record($0) })
    #expect(try records(log.follow(after: 2), 2) == written.dropFirst(2).map { .record($0) })
  }

  @Test func `a lone server stays the leader of the log`() throws {
    let log = try stage.log()
    #expect(log.publish(.rows(1)) == .stored(1))
    log.electAnotherServer()
    try wait("the publish") { log.publish(.rows(2)) == .stored(2) }
  }

  @Test func `a large body is compressed in the log`() throws {
    let log = try stage.log()
    let text = (0..<5_000).map { "INSERT message \($0) from ann to room tea;" }.joined()
    let record = LogRecord.rows(1, term: 7, text)
    #expect(log.publish(record) == .stored(1))
    #expect(try log.state().bytes < UInt64(text.utf8.count / 2))
    #expect(try records(log.follow(after: 0), 1) == [.record(record)])
    #expect(try log.read(1) == .record(record))
  }

  @Test(arguments: ["0", "-1", "x", "39999", "40001", "1000001", "9223372036854775807"])
  func `a compressed body with a wrong size is not valid`(_ size: String) throws {
    let log = try stage.log()
    let packed = try #require(BodyCompression.compressed([UInt8](repeating: 1, count: 40_000)))
    let headers = LogRecord.rows(1).headers + [HeaderField(BodyCompression.header, size)]
    _ = try log.publish(log.configuration.logSubject, headers: headers, body: packed)
    #expect(try log.read(1) == .invalid(RecordError(sequence: 1, code: .invalidBody)))
  }

  @Test func `a server that refuses the largest record is an error at the start`() throws {
    let file = NSTemporaryDirectory() + "/nats-\(UUID().uuidString.prefix(8)).conf"
    try Data("max_payload: 100000".utf8).write(to: URL(fileURLWithPath: file))
    defer { try? FileManager.default.removeItem(atPath: file) }
    let server = try stage.server(["-c", file])
    let error = #expect(throws: LogUnavailable.self) {
      _ = try NATSLog(NATSConfiguration(servers: server.url, cluster: "test", node: "a")) { _ in }
    }
    #expect(error?.reason.contains("max_payload") == true)
  }

  @Test func `a foreign message is a record that is not valid`() throws {
    let log = try stage.log()
    let subject = log.configuration.logSubject
    _ = try log.publish(subject, headers: [], body: [1])
    _ = try log.publish(subject, headers: [HeaderField("Term", "1"), HeaderField("Evil", "1")], body: [])
    #expect(try log.read(1) == .invalid(RecordError(sequence: 1, code: .missingHeader, header: .term)))
    #expect(
      try records(log.follow(after: 0), 2) == [
        .invalid(RecordError(sequence: 1, code: .missingHeader, header: .term)),
        .invalid(RecordError(sequence: 2, code: .unknownHeader)),
      ])
  }

  @Test func `a reader continues after the server's restart`() throws {
    let server = try stage.server()
    let log = try stage.log([server])
    #expect(log.publish(.rows(1)) == .stored(1))
    let reader = try log.follow(after: 0)
    #expect(try records(reader, 1) == [.record(.rows(1))])
    server.kill()
    try server.start()
    try wait("the publish") { log.publish(.rows(2)) == .stored(2) }
    var reads: [LogRead] = []
    try wait("the second record") {
      reads += (try? reader.next(max: 10, timeout: .milliseconds(200))) ?? []
      return !reads.isEmpty
    }
    #expect(reads == [.record(.rows(2))])
  }

  @Test func `a truncated log begins at the first record that is left`() throws {
    let log = try stage.log()
    for sequence in 1...5 as ClosedRange<UInt64> { #expect(log.publish(.rows(sequence)) == .stored(sequence)) }
    try log.truncate(below: 4)
    let state = try log.state()
    #expect((state.first, state.last) == (4, 5))
    #expect(try log.read(3) == .missing)
    #expect(try records(log.follow(after: 1), 2) == [.record(.rows(4)), .record(.rows(5))])
    try log.truncate(below: 6)
    #expect(try log.state() == LogState(generation: state.generation, first: 6, last: 5))
    #expect(log.publish(.rows(6)) == .stored(6))
  }

  @Test func `a log that is deleted and created again has another generation`() throws {
    let log = try stage.log()
    #expect(log.publish(.rows(1)) == .stored(1))
    let before = try log.state()
    #expect(before.generation > 0)
    #expect(try log.createStreams() == before)
    try log.deleteStreams()
    #expect(try log.state() == LogState(generation: 0, first: 1, last: 0))
    let after = try log.createStreams()
    #expect(after.generation > before.generation)
    #expect((after.first, after.last) == (1, 0))
  }

  @Test func `a newer copy replaces an older one`() throws {
    let log = try stage.log()
    #expect(try log.newest() == nil)
    let generation = try log.state().generation
    for sequence in 1...30 as ClosedRange<UInt64> {
      #expect(log.publish(.rows(sequence, gid: "g\(sequence)")) == .stored(sequence))
    }
    func manifest(_ id: String, _ sequence: UInt64) -> SnapshotManifest {
      SnapshotManifest(
        id: id, position: LogPosition(generation: generation, term: 1, sequence: sequence, gid: "g\(sequence)"),
        size: UInt64(SnapshotManifest.chunkSize) + 3, hash: String(repeating: "a", count: 64))
    }
    let (old, new) = (manifest("a.1", 10), manifest("b.2", 20))
    for copy in [old, new] {
      try log.put([UInt8](repeating: 1, count: SnapshotManifest.chunkSize), number: 0, of: copy.id)
      try log.put([7, 8, 9], number: 1, of: copy.id)
      #expect(try log.publish(copy) == .published)
      #expect(try log.newest() == copy)
      #expect(try log.chunk(1, of: copy) == [7, 8, 9])
      #expect(try log.chunk(2, of: copy) == nil)
    }
    #expect(try log.chunk(0, of: old) == nil)
    // A node whose copy took longer does not replace a newer one.
    try log.put([1], number: 0, of: old.id)
    try log.put([1], number: 1, of: old.id)
    #expect(try isRejected(log.publish(old)))
    // A copy with another history than the log is not published.
    let diverged = SnapshotManifest(
      id: "b.4", position: LogPosition(generation: generation, term: 1, sequence: 30, gid: "other"), size: 1,
      hash: new.hash)
    try log.put([1], number: 0, of: diverged.id)
    #expect(try isRejected(log.publish(diverged)))
    #expect(try log.newest() == new)
    // A copy without chunks is not published.
    #expect(try isRejected(log.publish(manifest("b.3", 30))))
    // Neither is one without one of its chunks.
    let last = manifest("b.5", 30)
    try log.put([7, 8, 9], number: 1, of: last.id)
    #expect(try isRejected(log.publish(last)))
    #expect(try log.newest() == new)
    try log.remove(last.id)
    #expect(try log.chunk(1, of: last) == nil)
    #expect(try log.chunk(1, of: new) == [7, 8, 9])
  }

  private func isRejected(_ outcome: SnapshotOutcome) -> Bool {
    if case .rejected = outcome { true } else { false }
  }

  @Test func `a manifest that is not readable is no missing snapshot`() throws {
    let log = try stage.log()
    _ = try log.publish(log.configuration.manifestSubject, headers: [], body: [1, 2, 3])
    #expect(throws: LogUnavailable.self) { try log.newest() }
  }

  @Test func `a deleted store of snapshots is created again, without the log`() throws {
    let log = try stage.log()
    #expect(log.publish(.rows(1)) == .stored(1))
    let before = try log.state()
    #expect(before.bytes > 0)
    var code = jsErrCode(0)
    #expect(js_DeleteStream(log.nats.jetStream, log.configuration.snapshotStream, nil, &code) == NATS_OK)
    #expect(try log.newest() == nil)
    #expect(throws: LogUnavailable.self) { try log.put([1], number: 0, of: "a.1") }
    try log.createSnapshotStream()
    try log.put([1], number: 0, of: "a.1")
    #expect(try log.state() == before)
    var other = log.configuration
    other.cluster = "large"
    // The server cannot reserve so much.
    other.maxSnapshotBytes = 1 << 60
    let large = try NATSLog(other) { _ in }
    _ = try large.createStreams()
    try large.put([1], number: 0, of: "a.1")
  }

  @Test func `heartbeats arrive, and other texts are ignored`() throws {
    let server = try stage.server()
    let log = try stage.log([server])
    let received = Mutex<[Heartbeat]>([])
    let subscription = try log.onHeartbeat { heartbeat in received.withLock { $0.append(heartbeat) } }
    let leader = try #require(Leader(name: "b", url: "https://b.example:8080"))
    natsConnection_PublishString(log.nats.connection, log.configuration.heartbeatSubject, "1 x")
    log.send(Heartbeat(term: 3, sequence: 17, leader: leader))
    try wait("the heartbeat") { received.withLock { !$0.isEmpty } }
    #expect(received.withLock { $0 } == [Heartbeat(term: 3, sequence: 17, leader: leader)])
    withExtendedLifetime(subscription) {}
  }

  @Test func `clock notices arrive beside heartbeats`() throws {
    let log = try stage.log()
    let received = Mutex<[ClockNotice]>([])
    let subscription = try log.onHeartbeat { _ in
    } onClock: { notice in
      received.withLock { $0.append(notice) }
    }
    let notice = ClockNotice(node: "b", time: .milliseconds(1_700_000_000_123))
    log.send(Heartbeat(term: 3, sequence: 17, leader: .test))
    log.send(notice)
    try wait("the notice") { received.withLock { !$0.isEmpty } }
    #expect(received.withLock { $0 } == [notice])
    withExtendedLifetime(subscription) {}
  }

  @Test func `a lone server is the only replica, and a stream that does not exist has no condition`() throws {
    let log = try stage.log()
    #expect(log.publish(.rows(1)) == .stored(1))
    let whole = StreamReplicas(configured: 1, current: 1)
    #expect(try log.condition(of: .log) == StreamCondition(last: 1, replicas: whole))
    #expect(try log.condition(of: .snapshots)?.replicas == whole)
    try log.deleteStreams()
    #expect(try log.condition(of: .log) == nil)
  }

  @Test func `a server that ends is missing in both streams, by its name`() throws {
    let log = try stage.log(replicas: 3)
    let whole = StreamReplicas(configured: 3, current: 3)
    func wait(_ what: String, for expected: [LogStream: StreamReplicas]) throws {
      try RelayNATSTests.wait(what) {
        LogStream.allCases.allSatisfy { (try? log.condition(of: $0))?.replicas == expected[$0] }
      }
    }
    try wait("all replicas", for: [.log: whole, .snapshots: whole])
    // Another server than the one to which the log is connected, and none that leads a stream, ends.
    let leaders = try [LogStream.log, .snapshots].map { try log.serverOfLeader($0) }
    guard let victim = ["a", "b", "c"].last(where: { !leaders.contains($0) }) else { return }
    stage.kill(victim)
    let degraded = StreamReplicas(configured: 3, current: 2, missing: [victim])
    try wait("the loss", for: [.log: degraded, .snapshots: degraded])
    #expect(log.publish(.rows(1)) == .stored(1))
  }

  /// Without the leader of all servers nothing makes a consumer. A missing permission has the same effect.
  @Test func `a reader reads single records while NATS makes no consumer`() throws {
    let file = NSTemporaryDirectory() + "/nats-\(UUID().uuidString.prefix(8)).conf"
    defer { try? FileManager.default.removeItem(atPath: file) }
    func write(deny: String) throws {
      try """
      authorization { users: [{ user: ann, password: secret, permissions: { publish: { deny: "\(deny)" } } }] }
      """.write(toFile: file, atomically: true, encoding: .utf8)
    }
    try write(deny: "$JS.API.CONSUMER.>")
    let server = try stage.server(["--config", file])
    var configuration = NATSConfiguration(
      servers: "nats://ann:secret@127.0.0.1:\(server.port)", cluster: "test", node: "a")
    configuration.timeout = .milliseconds(300)
    let log = try NATSLog(configuration) { _ in }
    _ = try log.createStreams()
    for sequence in 1...5 as ClosedRange<UInt64> { #expect(log.publish(.rows(sequence)) == .stored(sequence)) }
    let reader = try log.follow(after: 2)
    #expect(try records(reader, 3) == (3...5).map { .record(.rows($0)) })
    try RelayNATSTests.wait("the reason") {
      _ = try reader.next(max: 1, timeout: .milliseconds(50))
      return reader.obstacle?.hasPrefix("Permissions Violation for Publish to") == true
    }
    #expect(log.publish(.rows(6)) == .stored(6))
    #expect(try records(reader, 1) == [.record(.rows(6))])
    // An attempt after the outage makes a consumer.
    server.kill()
    try write(deny: "other")
    try server.start()
    try RelayNATSTests.wait("a consumer") {
      _ = try? reader.next(max: 1, timeout: .milliseconds(50))
      return reader.obstacle == nil
    }
    #expect(log.publish(.rows(7)) == .stored(7))
    #expect(try records(reader, 1) == [.record(.rows(7))])
  }

  @Test func `the connection's events are reported`() throws {
    let server = try stage.server()
    let events = Mutex<[NATSEvent]>([])
    var log: NATSLog? = try NATSLog(NATSConfiguration(servers: server.url, cluster: "test", node: "a")) { event in
      events.withLock { $0.append(event) }
    }
    #expect(events.withLock { $0 } == [.connected(server: server.address)])
    server.kill()
    try wait("the disconnect") { events.withLock { $0.count > 1 } }
    try server.start()
    try wait("the reconnect") { events.withLock { $0.last == .connected(server: server.address) } }
    withExtendedLifetime(log) {}
    log = nil
    try wait("the end") { events.withLock { $0.last == .closed } }
  }

  @Test func `a server that requires a password refuses others`() throws {
    let server = try stage.server(["--user", "ann", "--pass", "secret"])
    let refusal = #expect(throws: LogUnavailable.self) {
      try NATSLog(NATSConfiguration(servers: server.url, cluster: "test", node: "a")) { _ in }
    }
    #expect(refusal?.reason.contains("cluster.credentialsFile") == true, "\(String(describing: refusal))")
    // cnats reports the refusal again, on another thread, when the attempt has failed.
    for _ in 0..<200 {
      _ = try? NATSLog(NATSConfiguration(servers: server.url, cluster: "test", node: "a")) { _ in }
    }
    let url = "nats://ann:secret@127.0.0.1:\(server.port)"
    let events = Mutex<[NATSEvent]>([])
    let log = try NATSLog(NATSConfiguration(servers: url, cluster: "test", node: "a")) { event in
      events.withLock { $0.append(event) }
    }
    #expect(try log.createStreams().last == 0)
    // The password does not reach a log.
    #expect(events.withLock { $0 } == [.connected(server: server.address)])
  }

  @Test func `TLS requires the authority that signed the server's certificate`() async throws {
    let folder = NSTemporaryDirectory() + "/nats-tls-\(UUID().uuidString.prefix(8))"
    try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(atPath: folder) }
    let (certificate, key) = (folder + "/certificate.pem", folder + "/key.pem")
    let made = try await ChildProcess.run([
      "openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "2",
      "-subj", "/CN=localhost", "-addext", "subjectAltName=DNS:localhost", "-keyout", key, "-out", certificate,
    ])
    #expect(made.hasSucceeded, "\(made.output)")
    let server = try stage.server(["--tls", "--tlscert", certificate, "--tlskey", key])
    var configuration = NATSConfiguration(servers: "tls://localhost:\(server.port)", cluster: "test", node: "a")
    #expect(throws: LogUnavailable.self) { try NATSLog(configuration) { _ in } }
    configuration.authorityFile = certificate
    let log = try NATSLog(configuration) { _ in }
    #expect(try log.createStreams().last == 0)
    // A server that requires a certificate of its clients.
    let strict = try stage.server([
      "--tlsverify", "--tlscert", certificate, "--tlskey", key, "--tlscacert", certificate,
    ])
    configuration.servers = "tls://localhost:\(strict.port)"
    let refusal = #expect(throws: LogUnavailable.self) { try NATSLog(configuration) { _ in } }
    #expect(refusal?.reason.contains("set cluster.certificateFile") == true, "\(String(describing: refusal))")
  }

  @Test func `a missing permission is named instead of a timeout`() throws {
    let file = NSTemporaryDirectory() + "/nats-\(UUID().uuidString.prefix(8)).conf"
    try #"""
    authorization { users: [{ user: ann, password: secret, permissions: {
      publish: { deny: "stillwire.test.log" } } }] }
    """#.write(toFile: file, atomically: true, encoding: .utf8)
    defer { try? FileManager.default.removeItem(atPath: file) }
    let server = try stage.server(["--config", file])
    let url = "nats://ann:secret@127.0.0.1:\(server.port)"
    let events = Mutex<[NATSEvent]>([])
    var configuration = NATSConfiguration(servers: url, cluster: "test", node: "a")
    configuration.timeout = .milliseconds(300)
    let log = try NATSLog(configuration) { event in events.withLock { $0.append(event) } }
    _ = try log.createStreams()
    for _ in 0..<3 {
      guard case .unknown(let reason) = log.publish(.rows(1)) else { return #expect(Bool(false), "published") }
      #expect(reason.hasPrefix("Permissions Violation for Publish to"), "\(reason)")
      #expect(reason.hasSuffix(NATSAdvice.permission))
    }
    try wait("the reports") { events.withLock { $0.count { if case .failed = $0 { true } else { false } } } == 3 }
  }
}
