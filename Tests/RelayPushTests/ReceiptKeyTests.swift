// SPDX-License-Identifier: Apache-2.0
import RelayDelivery
import RelayProtocol
import Testing

@testable import RelayPush

@Suite struct ReceiptKeyTests {
  private let key = ReceiptKey(Array(repeating: 7, count: 32))
  private let end = Timestamp(rawValue: 1_800_000_000_000)
  private let before = Timestamp(rawValue: 1_799_999_999_999)

  @Test func `a receipt is valid for its notification until it expires`() {
    let receipt = key.receipt(for: "a", until: end)
    #expect(key.accepts(receipt, for: "a", now: before))
    #expect(!key.accepts(receipt, for: "a", now: end))
    #expect(!key.accepts(receipt, for: "b", now: before))
    #expect(receipt == key.receipt(for: "a", until: end))
    #expect(receipt.utf8.count <= PayloadSubject.maxReceiptLength)
  }

  @Test func `a receipt of another installation is refused`() {
    let receipt = ReceiptKey(Array(repeating: 8, count: 32)).receipt(for: "a", until: end)
    #expect(!key.accepts(receipt, for: "a", now: before))
  }

  @Test func `a receipt with a changed letter or another expiry is refused`() {
    let receipt = key.receipt(for: "a", until: end)
    for index in receipt.indices {
      var other = receipt
      other.replaceSubrange(index...index, with: receipt[index] == "A" ? "B" : "A")
      #expect(!key.accepts(other, for: "a", now: before))
    }
    #expect(!key.accepts("19" + receipt.dropFirst(2), for: "a", now: before))
  }

  @Test(arguments: ["", ".", "1800000000", "1800000000.", "1800000000.AAAAAAAAAAAAAAAAAAAAAA", "+1.A", "9.9.9", "é.é"])
  func `a text that is not a receipt is refused`(text: String) { #expect(!key.accepts(text, for: "a", now: before)) }
}
