// SPDX-License-Identifier: Apache-2.0
import RelayCluster
import Testing

@Suite struct TakeoverTests {
  private static let start = ContinuousClock.now
  private static let claim = LogRecord(sequence: 5, term: 2, gid: "claim", content: .term(.test))
  private var takeover = Takeover(
    .test, at: Self.start, jitter: { .milliseconds(100) }, gid: { "claim" })

  private func at(_ milliseconds: Int) -> ContinuousClock.Instant { Self.start + .milliseconds(milliseconds) }

  /// Brings the follower at sequence 4 to its claim.
  private mutating func claim() {
    _ = takeover.ticked(at: at(1_100), position: .at(4))
    #expect(takeover.inspected(.of(1, 4), position: .at(4), at: at(1_110)) == .read(4, after: .zero))
    #expect(takeover.isPublishing)
    #expect(takeover.found(.record(.rows(4)), at: at(1_110)) == .publish(Self.claim, after: .zero))
    #expect(takeover.isPublishing)
  }

  @Test mutating func `a follower waits for the silence and its jitter`() {
    #expect(takeover.ticked(at: at(0), position: .at(4)) == .wait(until: at(1_100)))
    #expect(takeover.ticked(at: at(1_099), position: .at(4)) == .wait(until: at(1_100)))
    #expect(takeover.ticked(at: at(1_100), position: .at(4)) == .inspect(after: .zero))
  }

  @Test(arguments: [(-300, 800), (-700, 400), (-800, 300), (-60_000, 300)])
  func `a silence that began before counts, but a heartbeat may be on its way`(_ since: Int, _ first: Int) {
    var takeover = Takeover(
      .test, at: Self.start, since: at(since), jitter: { .milliseconds(100) }, gid: { "claim" })
    #expect(takeover.ticked(at: at(0), position: .at(4)) == .wait(until: at(first)))
    #expect(takeover.doubtsLeader(at: at(0)) == (since <= -600))
    takeover.leaderSeen(at: at(200))
    #expect(takeover.ticked(at: at(300), position: .at(4)) == .wait(until: at(1_300)))
  }

  @Test mutating func `a heartbeat delays the takeover`() {
    takeover.leaderSeen(at: at(900))
    #expect(takeover.ticked(at: at(1_100), position: .at(4)) == .wait(until: at(2_000)))
  }

  @Test mutating func `clients are not sent to a leader that misses three heartbeats`() {
    #expect(!takeover.doubtsLeader(at: at(599)))
    #expect(takeover.doubtsLeader(at: at(600)))
    takeover.leaderSeen(at: at(700))
    #expect(!takeover.doubtsLeader(at: at(1_299)))
    #expect(takeover.doubtsLeader(at: at(1_300)))
  }

  @Test mutating func `a leader that leaves is followed at once`() {
    func heartbeat(_ term: UInt64, isLeaving: Bool = false) -> Heartbeat {
      Heartbeat(term: term, sequence: 4, leader: .test, isLeaving: isLeaving)
    }
    takeover.received(heartbeat(1), at: at(500))
    #expect(takeover.ticked(at: at(600), position: .at(4)) == .wait(until: at(1_600)))
    takeover.received(heartbeat(1, isLeaving: true), at: at(610))
    // A usual heartbeat that another thread of the leader has sent meanwhile.
    takeover.received(heartbeat(1), at: at(611))
    #expect(takeover.ticked(at: at(612), position: .at(4)) == .inspect(after: .zero))
    #expect(takeover.inspected(.of(1, 4), position: .at(4), at: at(613)) == .read(4, after: .zero))
    #expect(takeover.found(.record(.rows(4)), at: at(613)) == .publish(Self.claim, after: .zero))
    #expect(takeover.published(.rejected, at: at(614)) == .read(5, after: .zero))
    // Another follower was faster, and gets the usual time.
    #expect(takeover.found(.record(.term(5, 2)), at: at(615)) == .wait(until: at(1_715)))
    takeover.received(heartbeat(2), at: at(700))
    #expect(takeover.ticked(at: at(701), position: .at(5, term: 2)) == .wait(until: at(1_800)))
  }

  @Test(arguments: [(Takeover.silence, 1_100), (Takeover.reluctance, 5_100)])
  func `a node that led until now waits longer, until it sees another leader`(_ silence: Duration, _ first: Int) {
    var takeover = Takeover(
      .test, at: Self.start, after: silence, jitter: { .milliseconds(100) }, gid: { "claim" })
    #expect(takeover.ticked(at: at(first - 1), position: .at(4)) == .wait(until: at(first)))
    var other = takeover
    #expect(takeover.ticked(at: at(first), position: .at(4)) == .inspect(after: .zero))
    other.received(Heartbeat(term: 2, sequence: 5, leader: .test), at: at(300))
    #expect(other.ticked(at: at(1_399), position: .at(5, term: 2)) == .wait(until: at(1_400)))
    #expect(other.ticked(at: at(1_400), position: .at(5, term: 2)) == .inspect(after: .zero))
  }

  @Test mutating func `a node that yields waits half a second longer, and then takes over`() {
    takeover.yields = true
    #expect(takeover.ticked(at: at(1_100), position: .at(4)) == .wait(until: at(1_600)))
    takeover.yields = false
    #expect(takeover.ticked(at: at(1_101), position: .at(4)) == .inspect(after: .zero))
    var other = Takeover(.test, at: Self.start, jitter: { Takeover.maxJitter }, gid: { "claim" })
    #expect(Takeover.yieldPause > Takeover.maxJitter)
    other.yields = true
    other.received(Heartbeat(term: 1, sequence: 4, leader: .test, isLeaving: true), at: at(500))
    #expect(other.ticked(at: at(999), position: .at(4)) == .wait(until: at(1_000)))
    #expect(other.ticked(at: at(1_000), position: .at(4)) == .inspect(after: .zero))
  }

  @Test mutating func `the term begins at the time of the newest record`() {
    takeover.newest = .milliseconds(7_000)
    #expect(takeover.keys == nil)
    _ = takeover.ticked(at: at(1_100), position: .at(4))
    _ = takeover.inspected(.of(1, 4), position: .at(4), at: at(1_110))
    let claim = LogRecord(sequence: 5, term: 2, gid: "claim", time: .milliseconds(7_000), content: .term(.test))
    #expect(takeover.found(.record(.rows(4)), at: at(1_110)) == .publish(claim, after: .zero))
    #expect(takeover.keys?.time(at: at(2_110)) == .milliseconds(8_000))
  }

  @Test mutating func `a heartbeat during the preparation ends it`() {
    _ = takeover.ticked(at: at(1_100), position: .at(4))
    takeover.leaderSeen(at: at(1_105))
    #expect(takeover.inspected(.of(1, 9), position: .at(4), at: at(1_110)) == .wait(until: at(2_205)))
    _ = takeover.ticked(at: at(2_205), position: .at(4))
    #expect(takeover.inspected(.of(1, 9), position: .at(4), at: at(2_210)) == .catchUp(to: 9))
    takeover.leaderSeen(at: at(2_220))
    #expect(takeover.caughtUp(.at(9), at: at(2_230)) == .wait(until: at(3_320)))
  }

  @Test mutating func `without an answer of the log the node waits`() {
    _ = takeover.ticked(at: at(1_100), position: .at(4))
    #expect(takeover.inspected(nil, position: .at(4), at: at(1_110)) == .inspect(after: .milliseconds(100)))
    #expect(takeover.inspected(.of(1, 4), position: .at(4), at: at(1_220)) == .read(4, after: .zero))
    #expect(takeover.found(nil, at: at(1_230)) == .read(4, after: .milliseconds(20)))
    #expect(takeover.found(.record(.rows(4)), at: at(1_250)) == .publish(Self.claim, after: .zero))
  }

  @Test mutating func `the node applies the whole log before its claim`() {
    _ = takeover.ticked(at: at(1_100), position: .at(2))
    #expect(takeover.inspected(.of(1, 4), position: .at(2), at: at(1_110)) == .catchUp(to: 4))
    #expect(takeover.ticked(at: at(1_120), position: .at(3)) == .catchUp(to: 4))
    #expect(takeover.ticked(at: at(1_130), position: .at(4)) == .read(4, after: .zero))
  }

  @Test mutating func `the log's acknowledgement makes the leader`() {
    claim()
    let position = LogPosition(generation: 7, term: 2, sequence: 5, gid: "claim")
    #expect(takeover.published(.stored(5), at: at(1_120)) == .lead(position))
  }

  @Test mutating func `a lost claim is followed by the usual wait`() {
    claim()
    #expect(takeover.published(.rejected, at: at(1_120)) == .read(5, after: .zero))
    #expect(takeover.found(.record(.term(5, 2)), at: at(1_130)) == .wait(until: at(2_230)))
    #expect(!takeover.isPublishing)
    #expect(takeover.ticked(at: at(1_140), position: .at(5, term: 2)) == .wait(until: at(2_230)))
  }

  @Test mutating func `a claim with an unknown outcome is repeated, also after a heartbeat`() {
    claim()
    takeover.leaderSeen(at: at(1_115))
    #expect(takeover.published(.unknown(reason: "timeout"), at: at(1_120)) == .read(4, after: .milliseconds(20)))
    #expect(takeover.found(.record(.rows(4)), at: at(1_140)) == .publish(Self.claim, after: .zero))
    #expect(takeover.published(.rejected, at: at(1_150)) == .read(5, after: .zero))
    let position = LogPosition(generation: 7, term: 2, sequence: 5, gid: "claim")
    #expect(takeover.found(.record(Self.claim), at: at(1_160)) == .lead(position))
  }

  @Test(arguments: [.of(1, 9, generation: 8), .of(1, 0, generation: 0), .of(1, 3)] as [LogState])
  mutating func `a log that does not fit the file is compared with it`(_ state: LogState) {
    _ = takeover.ticked(at: at(1_100), position: .at(4))
    #expect(takeover.inspected(state, position: .at(4), at: at(1_110)) == .compare)
    #expect(!takeover.isPublishing)
  }

  @Test mutating func `a node whose newest record is not in the log does not claim`() {
    _ = takeover.ticked(at: at(1_100), position: .at(4))
    _ = takeover.inspected(.of(1, 4), position: .at(4), at: at(1_110))
    #expect(takeover.found(.record(.rows(4, term: 1, gid: "x")), at: at(1_630)) == .compare)
    #expect(!takeover.isPublishing)
  }
}
