// SPDX-License-Identifier: Apache-2.0

/// The calls of ``Stillwire/run()`` in their order. The first one runs, and the others wait.
struct Runs: Sendable {
  private var waiting: [(number: Int, turn: AsyncStream<Void>.Continuation)] = []
  private var last = 0

  /// The number of calls.
  var count: Int { waiting.count }
  /// The number of the call that runs.
  var first: Int? { waiting.first?.number }

  /// Adds a call, and returns its number. It gets one element when it is the first one.
  mutating func begin(_ turn: AsyncStream<Void>.Continuation) -> Int {
    last += 1
    waiting.append((last, turn))
    if waiting.count == 1 { turn.yield() }
    return last
  }

  /// Removes a call, and starts the next one if it was the first.
  mutating func end(_ number: Int) {
    let wasFirst = first == number
    waiting.removeAll { $0.number == number }
    if wasFirst { waiting.first?.turn.yield() }
  }

  /// Ends the sequences of all calls.
  func finish() { for call in waiting { call.turn.finish() } }
}
