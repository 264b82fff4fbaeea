// SPDX-License-Identifier: Apache-2.0
import Foundation
import Testing

@testable import RelayServer

@Suite(.serialized) struct ProcessReplacementTests {
  @Test(arguments: [
    ("\(getpid()) led", ProcessReplacement.Mark.led), ("\(getpid()) ledDamaged", .ledDamaged),
    ("1 led", nil), ("\(getpid())", nil), ("\(getpid()) other", nil), ("", nil),
  ])
  func `a run takes the mark of its own process once`(value: String, mark: ProcessReplacement.Mark?) {
    setenv("STILLWIRE_HAS_LED", value, 1)
    #expect(ProcessReplacement.takeMark() == mark)
    #expect(ProcessReplacement.takeMark() == nil)
  }
}
