// SPDX-License-Identifier: Apache-2.0
import Synchronization
import Testing

@testable import RelayPush

@Suite struct EndSignalTests {
  /// Unfinished work, and the number of times that its state was read.
  private final class Work: Sendable {
    private let state = Mutex((left: 0, readings: 0))
    let ends = EndSignal()

    init(_ count: Int) { state.withLock { $0.left = count } }

    var readings: Int { state.withLock(\.readings) }

    var isOver: Bool {
      state.withLock {
        $0.readings += 1
        return $0.left == 0
      }
    }

    func end() {
      state.withLock { $0.left -= 1 }
      ends.send()
    }
  }

  @Test(arguments: [true, false])
  func `waiting for finished work ends at once, even after the deadline`(_ isPast: Bool) async {
    let work = Work(0)
    #expect(await work.ends.wait(until: isPast ? .past : .future, clock: StoppedClock()) { work.isOver })
    #expect(work.readings == 1)
  }

  @Test func `waiting ends when the last work ends`() async {
    let work = Work(3)
    async let result = work.ends.wait(until: .future, clock: StoppedClock()) { work.isOver }
    while work.readings == 0 { await Task.yield() }
    for _ in 0..<3 { work.end() }
    #expect(await result)
    // It is read once at first, and at most once for each signal.
    #expect((2...4).contains(work.readings))
  }

  @Test func `an end during the first evaluation is not lost`() async {
    let work = Work(1)
    let result = await work.ends.wait(until: .future, clock: StoppedClock()) {
      let isOver = work.isOver
      if !isOver { work.end() }
      return isOver
    }
    #expect(result && work.readings == 2)
  }

  @Test func `waiting ends at the deadline`() async {
    let work = Work(1)
    #expect(await !work.ends.wait(until: .past, clock: StoppedClock()) { work.isOver })
    #expect(work.readings == 1)
  }

  @Test func `waiting ends when the task is cancelled`() async {
    let work = Work(1)
    let task = Task { await work.ends.wait(until: .future, clock: StoppedClock()) { work.isOver } }
    task.cancel()
    #expect(await !task.value)
  }

  @Test func `one signal serves one wait after the other`() async {
    let work = Work(1)
    #expect(await !work.ends.wait(until: .past, clock: StoppedClock()) { work.isOver })
    async let result = work.ends.wait(until: .future, clock: StoppedClock()) { work.isOver }
    work.end()
    #expect(await result)
  }
}

/// A clock that never advances: a deadline is either past already or never arrives.
private struct StoppedClock: Clock {
  struct Instant: InstantProtocol {
    var offset: Duration

    static let past = Instant(offset: .seconds(-1))
    static let future = Instant(offset: .seconds(1))

    func advanced(by duration: Duration) -> Instant { Instant(offset: offset + duration) }
    func duration(to other: Instant) -> Duration { other.offset - offset }
    static func < (a: Instant, b: Instant) -> Bool { a.offset < b.offset }
  }

  var now: Instant { Instant(offset: .zero) }
  var minimumResolution: Duration { .zero }

  func sleep(until deadline: Instant, tolerance: Duration?) async throws {
    guard deadline > now else { return }
    // Wait until the task is cancelled.
    try await Task.sleep(for: .seconds(3600))
  }
}
