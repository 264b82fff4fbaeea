// SPDX-License-Identifier: Apache-2.0
import RelayHub
import Testing

@testable import RelayFollowers

@Suite struct DueMembersTests {
  private var due = DueMembers()

  private func member(_ room: UInt64, _ user: UInt64) -> DueMembers.Member {
    DueMembers.Member(room: RoomHandle(rawValue: room), user: UserHandle(rawValue: user))
  }

  private mutating func append(_ room: UInt64, _ users: ClosedRange<UInt64>) {
    for user in users { due.append(UserHandle(rawValue: user), of: RoomHandle(rawValue: room)) }
  }

  private mutating func all() -> [DueMembers.Member] {
    var all: [DueMembers.Member] = []
    while let next = due.next() { all.append(next) }
    return all
  }

  @Test mutating func `the members of a room keep their order`() {
    append(1, 1...5_000)
    #expect(all() == (1...5_000).map { member(1, $0) })
    #expect(due.isEmpty)
    #expect(due.next() == nil)
  }

  @Test mutating func `rooms take turns`() {
    append(1, 1...3)
    append(2, 7...8)
    append(3, 9...9)
    #expect(
      all() == [member(1, 1), member(2, 7), member(3, 9), member(1, 2), member(2, 8), member(1, 3)])
  }

  @Test mutating func `a room that is added later gets its turn after one member of each other room`() {
    append(1, 1...900)
    #expect(due.next() == member(1, 1))
    append(2, 7...7)
    #expect(due.next() == member(1, 2))
    #expect(due.next() == member(2, 7))
    #expect(due.next() == member(1, 3))
  }

  @Test mutating func `a member may be due again after it was removed`() {
    append(1, 1...2)
    #expect(due.next() == member(1, 1))
    append(1, 1...1)
    #expect(all() == [member(1, 2), member(1, 1)])
  }
}
