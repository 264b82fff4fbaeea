// SPDX-License-Identifier: Apache-2.0
import Foundation
import RelayJSON
import StillwireClient

/// The app of a conformance case: commands come as lines of JSON, and what the app sees goes out as lines of JSON.
@main
struct Driver {
  static func main() async throws {
    let arguments = CommandLine.arguments
    guard arguments.count == 3, let address = RelayAddress(arguments[1]),
      let options = JSON(reading: arguments[2].utf8, deepest: 256)
    else {
      FileHandle.standardError.write(Data("usage: ConformanceDriver URL OPTIONS\n".utf8))
      exit(2)
    }
    let output = Output()
    let app = App(address, options, output)
    for try await line in FileHandle.standardInput.lines {
      guard let command = JSON(reading: line.utf8, deepest: 256) else { fatalError("no JSON: \(line)") }
      await app.hear(command)
    }
    exit(0)
  }
}

/// Lines to standard output, each as soon as it is written.
final class Output: Sendable {
  func tell(_ kind: String, _ members: [String: JSON] = [:]) {
    var members = members
    members["app"] = .string(kind)
    FileHandle.standardOutput.write(Data(JSON.object(members).bytes + [UInt8(ascii: "\n")]))
  }
}

extension FileHandle {
  /// In the order in which they come; read on a thread of their own.
  var lines: AsyncStream<String> {
    AsyncStream { continuation in
      Thread.detachNewThread {
        while let line = readLine() { continuation.yield(line) }
        continuation.finish()
      }
    }
  }
}
