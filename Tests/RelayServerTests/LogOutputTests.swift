// SPDX-License-Identifier: Apache-2.0
import Foundation
import Testing

@testable import RelayServer

/// `LogOutput`: stalled readers, failing writes, and control characters.
@Suite struct LogOutputTests {
  /// Returns a pipe that remains open until the process ends. The thread of a ``LogOutput`` may write to it after the
  /// test, and the system soon gives the number of a closed descriptor to another file.
  private static func pipe() throws -> (reader: FileHandle, writer: FileHandle) {
    var ends: [Int32] = [-1, -1]
    try #require(Foundation.pipe(&ends) == 0)
    return (FileHandle(fileDescriptor: ends[0]), FileHandle(fileDescriptor: ends[1]))
  }

  /// A write to a pipe that nobody reads blocks when the pipe's 64 KiB are full.
  @Test(arguments: [false, true])
  func `a stalled reader does not block the writer and later gets the number of lost lines`(isNonblocking: Bool) throws
  {
    let (reader, writer) = try Self.pipe()
    if isNonblocking { _ = fcntl(writer.fileDescriptor, F_SETFL, O_NONBLOCK) }
    let output = LogOutput(descriptor: writer.fileDescriptor, capacity: 10_000)
    let line = String(repeating: "x", count: 99) + "\n"
    for _ in 0..<10_000 { output.write(line) }
    var text = ""
    // Each line was either written, or counted in a notice of dropped lines. There can be several notices.
    while Self.linesAccountedFor(in: text) < 10_000 { text += Self.available(in: reader) }
    output.write("the last line\n")
    while !text.hasSuffix("the last line\n") { text += Self.available(in: reader) }
    #expect(Self.linesAccountedFor(in: text) == 10_000)
    let lines = text.split(separator: "\n")
    #expect(lines.contains { $0.hasSuffix("log lines were dropped: they could not be written in time") })
    #expect(lines.allSatisfy { !$0.hasPrefix("x") || $0.utf8.count == 99 })
  }

  private static func available(in reader: FileHandle) -> String {
    String(decoding: reader.availableData, as: UTF8.self)
  }

  /// The number of complete lines in `text`, and of the lines that its notices report as dropped.
  private static func linesAccountedFor(in text: String) -> Int {
    text.split(separator: "\n", omittingEmptySubsequences: false).dropLast().reduce(0) {
      if $1.hasPrefix("x") { return $0 + 1 }
      return $0 + ($1.contains(" log lines were dropped") ? Int($1.prefix { $0 != " " }) ?? 0 : 0)
    }
  }

  @Test func `lines that the system cannot write are counted`() throws {
    let (reader, writer) = try Self.pipe()
    let full = open("/dev/full", O_WRONLY)
    try #require(full >= 0)
    let descriptor = dup(full)
    let output = LogOutput(descriptor: descriptor)
    for _ in 0..<3 {
      output.write("lost\n")
      output.flush(within: .seconds(60))
    }
    // The disk has space again.
    try #require(dup2(writer.fileDescriptor, descriptor) == descriptor)
    output.write("kept\n")
    var text = ""
    while text.split(separator: "\n").count < 2 { text += Self.available(in: reader) }
    #expect(text == "kept\n3 log lines were dropped: they could not be written in time\n")
  }

  @Test func `text from a client cannot start a line or control a terminal`() throws {
    let (reader, writer) = try Self.pipe()
    let output = LogOutput(descriptor: writer.fileDescriptor)
    output.write("é reason=a\nb\r\u{1B}[2J\u{9B}\u{85}\u{2028}c\n")
    output.flush(within: .seconds(60))
    #expect(reader.availableData == Data("é reason=a?b??[2J???c\n".utf8))
  }

  @Test func `a flush waits for the queued lines and has a timeout`() throws {
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
