// SPDX-License-Identifier: Apache-2.0
import Foundation
import RelayJSON
import StillwireClient

/// The Swift app of Tests/Conformance. It reads commands as lines of JSON from standard input, and writes the events of
/// the client as lines of JSON to standard output.
@main
struct Driver {
  static func main() async throws {
    let arguments = CommandLine.arguments
    guard arguments.count == 3,
      case let addresses = arguments[1].split(separator: " ").compactMap({ RelayAddress(String($0)) }),
      !addresses.isEmpty,
      let options = JSON(reading: arguments[2].utf8, maxDepth: 256)
    else {
      FileHandle.standardError.write(Data("usage: ConformanceDriver URL OPTIONS\n".utf8))
      exit(2)
    }
    let output = Output()
    let app = App(addresses, options, output)
    for try await line in FileHandle.standardInput.lines {
      guard let command = JSON(reading: line.utf8, maxDepth: 256) else { fatalError("not JSON: \(line)") }
      await app.feed(command)
    }
    exit(0)
  }
}

/// Writes lines to standard output without a buffer.
final class Output: Sendable {
  func emit(_ kind: String, _ members: [String: JSON] = [:]) {
    var members = members
    members["app"] = .string(kind)
    FileHandle.standardOutput.write(Data(JSON.object(members).bytes + [UInt8(ascii: "\n")]))
  }
}

extension FileHandle {
  /// The lines of standard input, read on a thread of its own.
  var lines: AsyncStream<String> {
    AsyncStream { continuation in
      Thread.detachNewThread {
        while let line = readLine() { continuation.yield(line) }
        continuation.finish()
      }
    }
  }
}
