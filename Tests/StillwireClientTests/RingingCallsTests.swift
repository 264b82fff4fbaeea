// SPDX-License-Identifier: Apache-2.0
// Tests the model of ringing calls in the recipe web/docs/guides/recipes/calls.md.
import Foundation
import RelayJSON
import RelayProtocol
import Testing

@testable import StillwireClient

@MainActor @Suite struct RingingCallsTests {
  private static let tests = URL(filePath: #filePath).deletingLastPathComponent()

  @Test func `the recipe shows the model that the tests use`() throws {
    let place = Self.tests.appending(path: "../../web/docs/guides/recipes/calls.md")
    let recipe = try String(contentsOf: place, encoding: .utf8)
    let source = try String(contentsOf: Self.tests.appending(path: "RingingCalls.swift"), encoding: .utf8)
    let model = try #require(source.range(of: "@MainActor @Observable"))
    #expect(recipe.contains("```swift\n\(source[model.lowerBound...])```\n"))
  }

  private func call(
    _ cause: String, _ state: String = "ringing", by user: String? = "ann", seq: Int = 7, more: String = ""
  ) throws -> Event {
    let user = user.map { #","user":"\#($0)""# } ?? ""
    let text = """
      {"type":"call","event":"\(cause)","room":"tea","seq":\(seq),"from":"ann","media":"audio","state":"\(state)",\
      "time":1700000000000,"ringUntil":1700000045000\(user)\(more)}
      """
    return .frame(Frame(try #require(JSON(reading: text.utf8))))
  }

  /// Events, and the seqs of the calls that ring for Bob afterwards.
  private func seqs(after events: [Event], me: UserID = "bob") -> [Int64] {
    let model = RingingCalls()
    for event in events { model.apply(event, me: me) }
    return model.calls.map(\.message.seq)
  }

  @Test func `a repeated ring adds no second call`() throws {
    #expect(seqs(after: [try call("ring"), try call("ring")]) == [7])
    #expect(seqs(after: [try call("ring"), try call("ring", seq: 8), try call("ring")]) == [8, 7])
  }

  @Test func `a call that ended before a reconnect rings no more`() throws {
    let events: [Event] = [try call("ring"), try call("ring", seq: 8), .stateChanged(.open), try call("ring", seq: 8)]
    #expect(seqs(after: events) == [8])
  }

  @Test func `a call rings until the user answers or declines, or until it is over`() throws {
    let ring = try call("ring")
    #expect(seqs(after: [ring, try call("answer", "answered", by: "bob")]) == [])
    #expect(seqs(after: [ring, try call("decline", by: "bob")]) == [])
    #expect(seqs(after: [ring, try call("answer", "answered", by: "cleo")]) == [7])
    #expect(seqs(after: [ring, try call("expire", "missed", by: nil, more: #","ended":1700000045000"#)]) == [])
  }

  @Test func `own calls and those of muted rooms do not ring`() throws {
    #expect(seqs(after: [try call("ring")], me: "ann") == [])
    #expect(seqs(after: [try call("ring", more: #","muted":true"#)]) == [])
  }
}
