// SPDX-License-Identifier: Apache-2.0
import Foundation
import Testing

@testable import RelayServer

@Suite struct LogOutputTests {
  /// A pipe that stays open until the process ends: the thread of a ``LogOutput`` may write to it after the test, and the
  /// number of a closed descriptor belongs to somebody else soon.
  private static func pipe() throws -> (reader: FileHandle, writer: FileHandle) {
    var ends: [Int32] = [-1, -1]
    try #require(Foundation.pipe(&ends) == 0)
    return (FileHandle(fileDescriptor: ends[0]), FileHandle(fileDescriptor: ends[1]))
  }

  /// A write to a pipe that nobody reads waits for ever once its 64 KiB are full.
  @Test(.disabled("it can wait for ever on a loaded machine"), arguments: [false, true])
  func `a reader that stalls stops no writer, and hears how much it missed`(isNonblocking: Bool) throws {
    let (reader, writer) = try Self.pipe()
    if isNonblocking { _ = fcntl(writer.fileDescriptor, F_SETFL, O_NONBLOCK) }
    let output = LogOutput(descriptor: writer.fileDescriptor, capacity: 10_000)
    let line = String(repeating: "x", count: 99) + "\n"
    for _ in 0..<10_000 { output.write(line) }
    var text = Data()
    while true {
      text += reader.availableData
      if String(decoding: text, as: UTF8.self).contains("log lines were dropped") { break }
    }
    output.write("the last line\n")
    while !String(decoding: text, as: UTF8.self).hasSuffix("the last line\n") { text += reader.availableData }
    let lines = String(decoding: text, as: UTF8.self).split(separator: "\n")
    let dropped = lines.compactMap { line in
      line.hasSuffix("log lines were dropped: the log was not read in time") ? Int(line.prefix { $0 != " " }) : nil
    }
    #expect(lines.count { $0.hasPrefix("x") } + dropped.reduce(0, +) == 10_000)
    #expect(lines.allSatisfy { !$0.hasPrefix("x") || $0.utf8.count == 99 })
  }

  @Test func `a flush waits for what is queued, and not for ever`() throws {
    let (reader, writer) = try Self.pipe()
    let output = LogOutput(descriptor: writer.fileDescriptor)
    output.write("one\n")
    output.write("two\n")
    output.flush(within: .seconds(60))
    #expect(reader.availableData == Data("one\ntwo\n".utf8))
    output.write(String(repeating: "x", count: 500_000))
    output.flush(within: .milliseconds(1))
  }
}
