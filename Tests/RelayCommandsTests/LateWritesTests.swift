// SPDX-License-Identifier: Apache-2.0
import RelayProtocol
import Testing

@testable import RelayState

@Suite struct LateWritesTests {
  private let mark = LateWrite.marks(RoomID(unchecked: "tea"), UserID(unchecked: "ann"))
  private var writes = LateWrites()

  // `#expect` cannot contain a mutating call.
  private mutating func failed() -> [Int] { writes.takeFailed().map(\.number) }

  @Test mutating func `a failed write is retried once`() {
    let (number, isFirst) = writes.begin(mark) { _ in }
    #expect(isFirst)
    writes.fail(mark, number)
    let (first, second) = (failed(), failed())
    #expect((first, second) == ([number], []))
    let (ends, endsAgain) = (writes.end(mark, number), writes.end(mark, number))
    #expect((ends, endsAgain) == (true, false))
  }

  @Test mutating func `a newer value replaces a failed one`() {
    let old = writes.begin(mark) { _ in }.number
    writes.fail(mark, old)
    let (new, isFirst) = writes.begin(mark) { _ in }
    #expect(!isFirst)
    writes.fail(mark, old)
    let again = failed()
    #expect(again.isEmpty)
    let (oldEnds, newEnds) = (writes.end(mark, old), writes.end(mark, new))
    #expect((oldEnds, newEnds) == (false, true))
  }

  @Test mutating func `each member and each room has its own entry`() {
    let other = LateWrite.marks(RoomID(unchecked: "tea"), UserID(unchecked: "bob"))
    let cursor = LateWrite.cursor(RoomID(unchecked: "tea"))
    for write in [mark, other, cursor] {
      let (number, isFirst) = writes.begin(write) { _ in }
      #expect(isFirst)
      writes.fail(write, number)
    }
    let again = Set(writes.takeFailed().map(\.write))
    #expect(again == [mark, other, cursor])
  }
}
