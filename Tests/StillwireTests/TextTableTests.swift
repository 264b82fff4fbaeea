// SPDX-License-Identifier: Apache-2.0
import Testing

@testable import stillwire

@Suite struct TextTableTests {
  @Test func `a column is as wide as its longest text, and cuts none`() {
    let rows = [["tea", "1"], ["🎉🎉🎉🎉", "22"], ["👨‍👩‍👧‍👦", ""]]
    #expect(
      TextTable(["ROOM", "SEQ"], rows).text == """
        ROOM  SEQ
        tea   1
        🎉🎉🎉🎉  22
        👨‍👩‍👧‍👦

        """)
  }
}
