// SPDX-License-Identifier: Apache-2.0
import ArgumentParser
import Foundation
import PushLint

/// `stillwire lint`: checks a payload with `PushLint`, without a relay.
struct Lint: ParsableCommand {
  static let configuration = CommandConfiguration(
    abstract: "Check a push payload for mistakes before it is sent.",
    discussion: """
      Each finding is one line: file:line:column: severity: words [rule]. Lines and columns count from 1. Columns \
      count Unicode scalars.

      With --lenient the command corrects mistakes that have only one correction. It prints the findings on standard \
      error, and the corrected payload on standard output. It prints no payload if it had to guess the meaning.

      The exit code is 0 without errors, 1 with errors, and 2 if the file cannot be read.
      """
  )

  @Argument(help: "File with the payload, or - for standard input.", completion: .file())
  var file: String

  @Option(help: "apns-push-type: alert, background, voip, liveactivity and so on.")
  var pushType: String?

  @Option(help: "apns-topic: the app's bundle id, with a suffix for some push types.")
  var topic: String?

  @Option(help: "apns-priority: 10, 5 or 1.")
  var priority: String?

  @Option(help: "apns-expiration: seconds since 1970, or 0.")
  var expiration: String?

  @Option(help: "apns-collapse-id: at most 64 bytes.")
  var collapseID: String?

  @Option(help: "apns-id: a UUID in lower case.")
  var apnsID: String?

  @Flag(help: "The same as --push-type voip.")
  var voip = false

  @Flag(help: "Correct mistakes that have only one correction, and print the payload.")
  var lenient = false

  @Flag(help: "Print one JSON object, the same as the answer of POST /v1/pushes/lint.")
  var json = false

  func validate() throws {
    if voip, let pushType, pushType != "voip" { throw ValidationError("--voip and --push-type exclude each other") }
  }

  func run() throws {
    let text: [UInt8]
    do {
      text = try read()
    } catch {
      try? FileHandle.standardError.write(
        contentsOf: Data("stillwire: \(file) cannot be read: \(error.localizedDescription)\n".utf8))
      throw ExitCode(2)
    }
    let report = PushLint.check(text, headers: headers, isLenient: lenient)
    try write(report)
    if report.hasErrors { throw ExitCode.failure }
  }

  private var headers: [(name: String, value: String)] {
    let given = [
      ("apns-push-type", voip ? "voip" : pushType), ("apns-topic", topic), ("apns-priority", priority),
      ("apns-expiration", expiration), ("apns-collapse-id", collapseID), ("apns-id", apnsID),
    ]
    return given.compactMap { name, value in value.map { (name, $0) } }
  }

  /// Reads the payload, but at most one byte more than the maximum size, which is enough to report that it is too long.
  private func read() throws -> [UInt8] {
    let source = file == "-" ? FileHandle.standardInput : try FileHandle(forReadingFrom: URL(filePath: file))
    var text: [UInt8] = []
    while text.count <= PushLint.maxTextLength {
      guard let part = try source.read(upToCount: PushLint.maxTextLength + 1 - text.count), !part.isEmpty else { break }
      text.append(contentsOf: part)
    }
    return text
  }

  private func write(_ report: LintReport) throws {
    if json { return try print(report.json) }
    let lines = report.findings.map { $0.line(file: file == "-" ? "<stdin>" : file) + "\n" }.joined()
    let output = lenient ? FileHandle.standardError : .standardOutput
    try output.write(contentsOf: Data(lines.utf8))
    if let payload = report.payload { try print(payload) }
  }

  private func print(_ json: [UInt8]) throws {
    try FileHandle.standardOutput.write(contentsOf: Data(json + [0x0A]))
  }
}
