// SPDX-License-Identifier: Apache-2.0
import Dispatch
import Synchronization
import Testing

@testable import RelayHub

/// `HubThread`, the executor of the hub's thread.
@Suite struct HubThreadTests {
  // MARK: Order

  @Test(arguments: [Duration.zero, .milliseconds(5), .seconds(60)])
  func `jobs run in order with any slice`(slice: Duration) {
    let thread = HubThread(slice: slice)
    let record = Record()
    for number in 0..<100 {
      thread.perform {
        record.add("\(number)")
        if number % 10 == 0 { thread.perform { record.add("added by \(number)") } }
      }
    }
    thread.start {}
    thread.end()
    let added = stride(from: 0, to: 100, by: 10).map { "added by \($0)" }
    #expect(record.lines == (0..<100).map(String.init) + added)
  }

  @Test func `tasks of an actor and other work share one order`() async {
    let clerk = Clerk()
    await withCheckedContinuation { continuation in
      // One job queues everything, so that no other job runs in between.
      clerk.thread.perform {
        for number in 0..<50 {
          clerk.thread.perform { clerk.record.add("work \(number)") }
          clerk.assumeIsolated { $0.writeLater("task \(number)") }
        }
        clerk.thread.perform { continuation.resume() }
      }
      clerk.thread.start {}
    }
    clerk.thread.end()
    #expect(clerk.record.lines == (0..<50).flatMap { ["work \($0)", "task \($0)"] })
  }

  // MARK: Wakes

  @Test func `many jobs wake the thread once`() {
    let thread = HubThread()
    let count = Atomic(0)
    for _ in 0..<1000 { thread.perform { count.add(1, ordering: .relaxed) } }
    #expect(thread.wakeCount == 1)
    thread.start {}
    thread.end()
    #expect(count.load(ordering: .relaxed) == 1000)
    #expect(thread.jobCount == 1000)
  }

  @Test func `jobs that arrive while others run wake nobody`() async throws {
    let thread = HubThread()
    let hub = try LoopbackHub(thread)
    hub.start()
    let (isBusy, mayGoOn) = (DispatchSemaphore(value: 0), DispatchSemaphore(value: 0))
    thread.perform {
      isBusy.signal()
      mayGoOn.wait()
    }
    isBusy.wait()
    let before = thread.wakeCount
    await withCheckedContinuation { continuation in
      for _ in 0..<1000 { thread.perform {} }
      thread.perform { continuation.resume() }
      #expect(thread.wakeCount == before)
      mayGoOn.signal()
    }
    hub.end()
  }

  @Test func `a job of the next iteration runs after the jobs of this one`() async throws {
    let thread = HubThread(slice: .seconds(60))
    let hub = try LoopbackHub(thread)
    hub.start()
    let record = Record()
    await withCheckedContinuation { continuation in
      thread.perform {
        let before = thread.wakeCount
        thread.performLater {
          record.add("later, after \(thread.wakeCount - before) wakes")
          continuation.resume()
        }
        thread.perform {
          record.add("first")
          thread.perform { record.add("second, after \(thread.wakeCount - before) wakes") }
        }
      }
    }
    hub.end()
    #expect(record.lines == ["first", "second, after 0 wakes", "later, after 1 wakes"])
  }

  @Test func `jobs that remain after the slice wake the thread again`() async {
    let thread = HubThread(slice: .zero)
    await withCheckedContinuation { continuation in
      for _ in 0..<3 { thread.perform {} }
      thread.perform { continuation.resume() }
      thread.start {}
    }
    thread.end()
  }

  // MARK: The end

  @Test func `the thread runs jobs after the end of the loop`() async throws {
    let thread = HubThread()
    let hub = try LoopbackHub(thread)
    hub.start()
    await withCheckedContinuation { isRunning in thread.perform { isRunning.resume() } }
    hub.stop()
    while thread.hasLoop { await Task.yield() }
    await withCheckedContinuation { continuation in
      thread.perform { thread.perform { continuation.resume() } }
    }
    thread.end()
  }

  @Test func `the end waits for queued jobs and for the jobs that they add`() {
    let thread = HubThread()
    let record = Record()
    @Sendable func add(_ left: Int) {
      record.add("\(left)")
      if left > 0 { thread.perform { add(left - 1) } }
    }
    thread.perform { add(100) }
    thread.start {}
    thread.end()
    #expect(record.lines == (0...100).reversed().map(String.init))
  }

  // MARK: The slice

  /// The alarm is due immediately, so the loop delivers it in its next iteration.
  @Test(arguments: [(Duration.zero, ["first", "alarm", "second"]), (.seconds(60), ["first", "second", "alarm"])])
  func `the loop runs between the slices of a batch`(slice: Duration, expected: [String]) async throws {
    #expect(try await alarmed(HubThread(slice: slice), firstJobTakes: .zero) == expected)
  }

  @Test func `the default slice is 5 ms`() async throws {
    #expect(
      try await alarmed(HubThread(), firstJobTakes: .milliseconds(5)) == ["first", "alarm", "second"])
  }

  /// Returns the order in which two jobs of one batch run, and the event of an alarm that the first one sets.
  private func alarmed(_ thread: HubThread, firstJobTakes time: Duration) async throws -> [String] {
    let record = Record()
    let hub = try LoopbackHub(thread)
    await withCheckedContinuation { continuation in
      record.notify(at: 3) { continuation.resume() }
      hub.onAlarm { record.add("alarm") }
      thread.perform {
        hub.setAlarmNow()
        let end = ContinuousClock.now + time
        while ContinuousClock.now < end {}
        record.add("first")
      }
      thread.perform { record.add("second") }
      hub.start()
    }
    hub.end()
    return record.lines
  }

  /// Two events, each of which queues a job. The first job takes the slice.
  @Test(
    arguments: [
      (Duration.zero, ["first event", "second event", "first job", "second job"]),
      (.milliseconds(1), ["first event", "first job", "second event", "second job"]),
      (.seconds(60), ["first event", "first job", "second event", "second job"]),
    ])
  func `jobs of events use one slice together`(slice: Duration, expected: [String]) {
    let thread = HubThread(slice: slice)
    let record = Record()
    thread.start {
      var wakes: [Int] = []
      for name in ["first", "second"] {
        thread.runJobs {
          record.add("\(name) event")
          thread.perform {
            record.add("\(name) job")
            let end = ContinuousClock.now + min(slice, .milliseconds(10))
            while ContinuousClock.now < end {}
          }
        }
        wakes.append(thread.wakeCount)
      }
      // The second job waits for a wake if the first one has used up the slice.
      #expect(wakes == [slice == .zero ? 1 : 0, slice == .seconds(60) ? 0 : 1])
    }
    thread.end()
    #expect(record.lines == expected)
  }

  // MARK: The right thread

  @Test func `only the hub's thread is isolated`() async {
    let thread = HubThread()
    #expect(thread.isIsolatingCurrentContext() == false)
    let isIsolated = await withCheckedContinuation { continuation in
      thread.perform { continuation.resume(returning: thread.isIsolatingCurrentContext()) }
      thread.start {}
    }
    #expect(isIsolated == true)
    #expect(thread.isIsolatingCurrentContext() == false)
    thread.end()
  }

  @Test func `a job on the thread can assume the actor's isolation`() async {
    let clerk = Clerk()
    await withCheckedContinuation { continuation in
      clerk.thread.perform {
        clerk.claim("isolated")
        continuation.resume()
      }
      clerk.thread.start {}
    }
    clerk.thread.end()
    #expect(clerk.record.lines == ["isolated"])
  }

  @Test func `assuming isolation on another thread ends the process`() async {
    await #expect(processExitsWith: .failure) {
      let clerk = Clerk()
      clerk.thread.start {}
      clerk.claim("isolated")
    }
  }

  @Test func `checking isolation on the thread of another hub ends the process`() async throws {
    let result = try await #require(processExitsWith: .failure, observing: [\.standardErrorContent]) {
      let (own, other) = (HubThread(), HubThread())
      own.start {}
      other.perform { own.checkIsolated() }
      other.start {}
      other.end()
    }
    let text = String(decoding: result.standardErrorContent, as: UTF8.self)
    #expect(text.contains("the hub was called from another thread than its own"), "\(text)")
  }
}

/// An actor on a hub's thread. The test starts the thread.
private actor Clerk {
  nonisolated let thread = HubThread()
  nonisolated let record = Record()
  nonisolated var unownedExecutor: UnownedSerialExecutor { thread.asUnownedSerialExecutor() }

  func write(_ line: String) { record.add(line) }

  /// Writes a line immediately. Only the clerk's thread may do this.
  nonisolated func claim(_ line: String) { assumeIsolated { $0.write(line) } }

  /// Queues a task behind the jobs that are queued now.
  func writeLater(_ line: String) { Task { write(line) } }
}
