// SPDX-License-Identifier: Apache-2.0
import ChildProcess
import Foundation
import RelayProtocol
import Testing

@testable import StillwireClient

/// `Tests/Apps/TeaApp` is the app of the guide `web/docs/guides/swift-app.md`.
@Suite(.timeLimit(.minutes(15))) struct GuideTests {
  private static let root = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
    .deletingLastPathComponent()

  @Test func `the guide shows the app that the test runs, and the app has less than 30 lines`() throws {
    let guide = try String(contentsOf: Self.root.appending(path: "web/docs/guides/swift-app.md"), encoding: .utf8)
    let app = try String(contentsOf: Self.root.appending(path: "Tests/Apps/TeaApp/Tea.swift"), encoding: .utf8)
    let blocks = guide.split(separator: "```swift\n").dropFirst().map {
      $0.prefix(upTo: $0.range(of: "```")!.lowerBound)
    }
    #expect(blocks.contains(app[...]))
    #expect(app.split(separator: "\n").count < 30)
  }

  @Test func `the app joins, sends, shows the people and reports its Focus`() async throws {
    try await LiveRelay().serve { address in
      try await withClient(of: "bob", at: address) { bob in
        let messages = bob.room("tea").messages()
        try await bob.room("tea").join()
        // The app prints to a pipe, so its output must be line-buffered with `stdbuf`.
        let program = Self.root.appending(path: ".build/debug/TeaApp").path
        let output = Pipe()
        let process = try ChildProcess(
          ["stdbuf", "-oL", program, address.description], output: output.fileHandleForWriting)
        try output.fileHandleForWriting.close()
        defer { process.signal(SIGTERM) }
        #expect(await messages.first { $0.from == "ann" }?.text == "Kettle is on")
        let people = await bob.room("tea").people().first { $0["ann"]?.isSilenced == true }
        #expect(people?["ann"]?.name == "Ann")
        var text = ""
        for await more in output.fileHandleForReading.pieces {
          text += more
          if text.contains("ann: Kettle is on\n"), text.contains("reachable: [ann, bob]") { break }
        }
        #expect(text.contains("ann: Kettle is on\n"))
      }
    }
  }
}

extension FileHandle {
  /// The data of the file, read on a thread that may block.
  fileprivate var pieces: AsyncStream<String> {
    AsyncStream { continuation in
      Thread.detachNewThread {
        while case let piece = self.availableData, !piece.isEmpty {
          continuation.yield(String(decoding: piece, as: UTF8.self))
        }
        continuation.finish()
      }
    }
  }
}
