// SPDX-License-Identifier: Apache-2.0
import RelayProtocol
import Testing

@testable import RelayState

struct ChangeOrderTests {
  private let ann = UserID(unchecked: "ann")
  private let bob = UserID(unchecked: "bob")

  @Test func `a read detects the changes since it began`() {
    var order = ChangeOrder()
    order.note(ann)
    order.beginReading()
    let since = order.newest
    #expect(!order.hasChanged(ann, since: since))
    order.note(ann)
    #expect(order.hasChanged(ann, since: since))
    #expect(!order.hasChanged(bob, since: since))
    #expect(!order.hasChanged(ann, since: order.newest))
  }

  @Test func `changes are kept until the last read ends`() {
    var order = ChangeOrder()
    order.beginReading()
    order.beginReading()
    let since = order.newest
    order.note(ann)
    order.endReading()
    #expect(order.isRead)
    #expect(order.hasChanged(ann, since: since))
    order.endReading()
    #expect(!order.isRead)
    #expect(!order.hasChanged(ann, since: since))
  }

  @Test func `after too many changes each user counts as changed`() {
    var order = ChangeOrder()
    order.beginReading()
    let since = order.newest
    for index in 0..<ChangeOrder.maxChanged { order.note(UserID(unchecked: "user-\(index)")) }
    #expect(!order.hasChanged(ann, since: since))
    order.note(bob)
    #expect(order.hasChanged(ann, since: since))
    #expect(!order.hasChanged(ann, since: order.newest))
  }
}
