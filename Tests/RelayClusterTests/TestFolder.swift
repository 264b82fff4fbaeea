// SPDX-License-Identifier: Apache-2.0
import Foundation
import RelayCluster
import Synchronization

/// The file of a node: a set of rows, a secret that no record contains, and the migrations that have run. Rows from 1000
/// need the migration `m2`.
struct TestContents: Hashable {
  var position: LogPosition?
  var secret: Int
  var rows: Set<Int> = []
  var migrations: Set<String> = ["m1"]
  var hasSnapshot = false

  var text: String {
    "\(position?.text ?? "none")\n\(secret)\n\(rows.sorted().map(String.init).joined(separator: ","))"
      + "\n\(migrations.sorted().joined(separator: ","))"
  }

  init(secret: Int) { self.secret = secret }

  init?(text: String) {
    let lines = text.split(separator: "\n", omittingEmptySubsequences: false).map(String.init)
    guard lines.count == 4, let secret = Int(lines[1]) else { return nil }
    self.secret = secret
    position = LogPosition(text: lines[0])
    rows = Set(lines[2].split(separator: ",").compactMap { Int($0) })
    migrations = Set(lines[3].split(separator: ",").map(String.init))
  }
}

/// The folder of a node. A crash keeps it.
final class TestFolder: ReplicaFolder {
  let path: String
  private let known = Mutex<Set<String>>(["m1"])
  private let contents: Mutex<TestContents>
  private let opens = Mutex(0)
  /// Until a snapshot replaces the file, its writes fail.
  let isDamaged = Mutex(false)
  /// Until a snapshot replaces the file, it cannot be opened.
  let isUnreadable = Mutex(false)
  /// The disk is full.
  let isFull = Mutex(false)
  /// The number of transactions of the file.
  let commits = Mutex(0)
  /// The contents that the node has kept.
  let kept = Mutex<TestContents?>(nil)

  init(secret: Int) {
    path = NSTemporaryDirectory() + "cluster-\(UUID().uuidString)"
    try? FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
    contents = Mutex(TestContents(secret: secret))
  }

  deinit { try? FileManager.default.removeItem(atPath: path) }

  var outgoing: String { path + "/outgoing" }
  var incoming: String { path + "/incoming" }
  var migrations: Set<String> { known.withLock { $0 } }
  /// Installs the next version of the program, which knows one more migration. The node must not run.
  func upgrade() { known.withLock { _ = $0.insert("m2") } }

  private func checkDisk() throws(ReplicaError) {
    if isFull.withLock({ $0 }) { throw .failed(reason: "database or disk is full") }
  }

  private func check(_ contents: TestContents) throws(ReplicaError) {
    guard contents.migrations.isSubset(of: migrations) else { throw .newerSchema(reason: "of a newer version") }
  }

  var current: TestContents { contents.withLock { $0 } }
  var isOpen: Bool { opens.withLock { $0 > 0 } }

  func change<Value: Sendable>(_ change: (inout TestContents) -> Value) -> Value { contents.withLock { change(&$0) } }

  func positionOfDamaged() throws(ReplicaError) -> LogPosition? {
    precondition(!isOpen, "the file is open")
    return current.position
  }

  func open() throws(ReplicaError) -> any ReplicaFile {
    if isUnreadable.withLock({ $0 }) { throw .damaged(reason: "malformed") }
    // A new file has all migrations.
    change { [migrations] in if $0.position == nil && $0.rows.isEmpty { $0.migrations = migrations } }
    try check(current)
    let count = opens.withLock { count in
      count += 1
      return count
    }
    precondition(count == 1, "the file is open already")
    return File(self)
  }

  func copy(to path: String) throws(ReplicaError) -> LogPosition? {
    let contents = current
    guard FileManager.default.createFile(atPath: path, contents: Data(contents.text.utf8)) else {
      throw .failed(reason: "no disk")
    }
    return contents.position
  }

  private func contents(of path: String) throws(ReplicaError) -> TestContents {
    let bytes = FileManager.default.contents(atPath: path) ?? Data()
    guard let contents = TestContents(text: String(decoding: bytes, as: UTF8.self)) else {
      throw .failed(reason: "not a copy")
    }
    return contents
  }

  func position(ofCopy path: String) throws(ReplicaError) -> LogPosition? {
    let contents = try contents(of: path)
    try check(contents)
    return contents.position
  }

  func keep() throws(ReplicaError) -> String {
    precondition(!isOpen, "the file is open")
    let contents = current
    kept.withLock { $0 = contents }
    return path + "/kept"
  }

  func install() throws(ReplicaError) {
    precondition(!isOpen, "the file is open")
    var new = try contents(of: incoming)
    new.hasSnapshot = true
    change { [new] in $0 = new }
    isDamaged.withLock { $0 = false }
    isUnreadable.withLock { $0 = false }
  }

  private final class File: ReplicaFile {
    private let folder: TestFolder
    init(_ folder: TestFolder) { self.folder = folder }

    var position: LogPosition? { folder.current.position }
    var isEmpty: Bool { folder.current.rows.isEmpty }
    var hasSnapshot: Bool { folder.current.hasSnapshot }
    func noteSnapshot() { folder.change { $0.hasSnapshot = true } }
    var missingMigrations: [String] { folder.migrations.subtracting(folder.current.migrations).sorted() }

    func apply(_ bodies: [[UInt8]], position: LogPosition) throws(ReplicaError) {
      if folder.isDamaged.withLock({ $0 }) { throw .damaged(reason: "malformed") }
      try folder.checkDisk()
      var new = folder.current
      for (index, body) in bodies.enumerated() {
        guard let row = Int(String(decoding: body, as: UTF8.self)), new.rows.insert(row).inserted,
          row < 1_000 || new.migrations.contains("m2")
        else {
          throw .conflict(index: index, reason: "the row exists, or its table does not")
        }
      }
      new.position = position
      folder.change { $0 = new }
      folder.commits.withLock { $0 += 1 }
    }

    func setPosition(_ position: LogPosition) throws(ReplicaError) {
      try folder.checkDisk()
      folder.change { $0.position = position }
      folder.commits.withLock { $0 += 1 }
    }

    func migrate(_ name: String, position: LogPosition) throws(ReplicaError) {
      folder.change { _ = $0.migrations.insert(name) }
      try setPosition(position)
    }

    func close() { folder.opens.withLock { $0 -= 1 } }
  }

  func closeAfterCrash() { opens.withLock { $0 = 0 } }
}

/// A hash with the length of SHA-256.
struct TestDigest: CopyDigest {
  private var hash: UInt64 = 0xcbf2_9ce4_8422_2325

  mutating func update(_ bytes: [UInt8]) { for byte in bytes { hash = (hash ^ UInt64(byte)) &* 0x100_0000_01b3 } }

  func finish() -> String {
    let digits = String(hash, radix: 16)
    return String(repeating: String(repeating: "0", count: 16 - digits.count) + digits, count: 4)
  }
}

/// The clock of a test, as the node of a machine with another wall clock sees it.
final class OffsetClock: NodeClock {
  private let clock: TestClock
  let offset = Mutex(Duration.zero)

  init(_ clock: TestClock) { self.clock = clock }

  var reading: PauseDetector.Reading {
    let reading = clock.reading
    return PauseDetector.Reading(clock: reading.clock, timeOfDay: reading.timeOfDay + offset.withLock { $0 })
  }

  func wait(_ time: Duration) -> Bool { clock.wait(time) }
  func random(upTo limit: Duration) -> Duration { clock.random(upTo: limit) }
  func gid() -> String { clock.gid() }
}

/// A clock that advances when somebody waits.
final class TestClock: NodeClock {
  private struct State {
    var now = Duration.zero
    var count = 0
    var onWait: (@Sendable (Duration) -> Void)?
    var isStopped = false
  }

  private let start = ContinuousClock.now
  private let state = Mutex(State())

  var elapsed: Duration { state.withLock { $0.now } }
  var reading: PauseDetector.Reading {
    PauseDetector.Reading(clock: start + elapsed, timeOfDay: .seconds(1_000_000) + elapsed)
  }

  func advance(_ time: Duration) { state.withLock { $0.now += time } }
  func onWait(_ work: @escaping @Sendable (_ elapsed: Duration) -> Void) { state.withLock { $0.onWait = work } }

  func wait(_ time: Duration) -> Bool {
    advance(time)
    let (now, work) = state.withLock { ($0.now, $0.onWait) }
    work?(now)
    return !state.withLock { $0.isStopped }
  }

  func stop() { state.withLock { $0.isStopped = true } }

  func random(upTo limit: Duration) -> Duration {
    state.withLock { state in
      state.count += 1
      return limit * (state.count * 7 % 10) / 10
    }
  }

  func gid() -> String {
    state.withLock { state in
      state.count += 1
      return "c\(state.count)"
    }
  }
}
