// SPDX-License-Identifier: Apache-2.0
import Foundation
import PushLint
import SeededRandom
import Testing

@Suite struct LintPropertyTests {
  private static let good = LintExample.all.map(\.text).filter { $0.count < 1_000 }

  /// Returns a payload with a few bytes changed, removed, inserted or repeated.
  private func mutated(_ dice: inout SeededGenerator) -> [UInt8] {
    var text = dice.one(of: Self.good)
    let marks = Array(#"{}[],:"'\/#+-0e.tn"#.utf8) + [0, 9, 10, 0x80, 0xC2, 0xE2, 0xFF]
    for _ in 0..<Int.random(in: 1...4, using: &dice) {
      let at = Int.random(in: 0...text.count, using: &dice)
      switch Int.random(in: 0..<4, using: &dice) {
      case 0 where at < text.count: text[at] = dice.one(of: marks)
      case 1 where at < text.count: text.remove(at: at)
      case 2:
        text.insert(
          contentsOf: dice.one(of: [Array("“".utf8), Array("”".utf8), Array("\u{A0}".utf8), [dice.one(of: marks)]]),
          at: at)
      default:
        let end = Int.random(in: at...text.count, using: &dice)
        text.insert(contentsOf: text[at..<end], at: Int.random(in: 0...text.count, using: &dice))
      }
    }
    return text
  }

  private func expectSound(_ text: [UInt8]) {
    let report = PushLint.check(text)
    #expect(report.findings.count <= PushLint.maxFindings + 1)
    let lines = text.count { $0 == 0x0A || $0 == 0x0D } + 1
    for finding in report.findings {
      guard case .payload(let pointer, let line, let column) = finding.location else { continue }
      #expect(pointer.isEmpty || pointer.hasPrefix("/"))
      #expect((1...lines).contains(line) && (1...(text.count + 1)).contains(column))
      #expect(finding.words.utf8.count < 1_000)
    }
    let lenient = PushLint.check(text, isLenient: true)
    #expect(lenient.findings.map(\.rule) == report.findings.map(\.rule))
    guard let mended = lenient.payload else { return }
    #expect(
      (try? JSONSerialization.jsonObject(with: Data(mended), options: .fragmentsAllowed)) != nil,
      "\(String(decoding: mended, as: UTF8.self))")
    // The corrected payload has no more corrections.
    #expect(PushLint.check(mended, isLenient: true).payload == mended)
  }

  @Test(arguments: 0..<20) func `a changed payload has a consistent report`(seed: Int) {
    var dice = SeededGenerator(seed: seed)
    for _ in 0..<100 { expectSound(mutated(&dice)) }
  }

  @Test func `random bytes have a consistent report`() {
    var dice = SeededGenerator(seed: 99)
    for _ in 0..<2_000 {
      expectSound((0..<Int.random(in: 0...60, using: &dice)).map { _ in UInt8.random(in: 0...255, using: &dice) })
    }
  }

  /// Compares with Foundation's parser, which is independent of the linter's.
  @Test func `a text that Foundation cannot parse has errors`() {
    var dice = SeededGenerator(seed: 5)
    var read = 0
    for _ in 0..<3_000 {
      let text = mutated(&dice)
      guard (try? JSONSerialization.jsonObject(with: Data(text), options: .fragmentsAllowed)) == nil else {
        read += 1
        continue
      }
      #expect(PushLint.check(text).hasErrors, "\(String(decoding: text, as: UTF8.self))")
    }
    #expect(read > 100)
  }

  /// With quadratic time, each of these texts would take minutes.
  @Test(arguments: [
    "[", "{", "{\"a\":", "[[],", "\"", "\"a\" ", "\"a\"b ", "'", "“", "\"”:", "\"a\n", "\\", "\"\\", ",", ":", "a",
    "a:", "}", "/*", "//\n", "#", " ", "0",
    "{\"aps\":", "\u{0}", "\u{FEFF}", "\u{A0}", "{\"aps\":{\"a\":1,\"alert\":{\"b\":2,",
  ])
  func `the time is linear in the size of the text`(part: String) {
    for start in ["", "[", "{\"aps\":{", "{\"aps\":\"", "{\"aps\":{\"alert\":\""] {
      let text = start + String(repeating: part, count: PushLint.maxTextLength / part.utf8.count)
      #expect(!PushLint.check(Array(text.utf8.prefix(PushLint.maxTextLength)), isLenient: true).findings.isEmpty)
    }
    let keys = (0..<4_000).map {
      "\"\(part.unicodeScalars.filter { $0 != "\"" && $0 != "\\" && $0.value > 31 })\($0)\":0"
    }
    #expect(!PushLint.check(Array("{\"aps\":{\(keys.joined(separator: ","))}}".utf8)).findings.isEmpty)
  }
}
